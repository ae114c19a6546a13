"""From an address to the store that holds it."""

from __future__ import annotations

import os
import re
from typing import Any

from trimtab.errors import InvalidArgument
from trimtab.journal.store.base import NOT_IN_NAMES, Store
from trimtab.journal.store.hadoop_settings import object_store_settings
from trimtab.journal.store.local import LocalStore

OBJECT_STORES = frozenset({"s3", "s3a", "gs", "abfs", "abfss", "az"})
"""The schemes that are opened without Spark."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def store(where: str | os.PathLike[str], session: Any = None, **options: Any) -> Store:
    """Return the store at an address. Nothing is made there before something is created.

    Parameters
    ----------
    where
        A directory, or an address with a scheme, of one slash or two: `ck`, `file:/data/ck`,
        `s3://bucket/ck`, `gs://bucket/ck`, `abfss://container@account.dfs.core.windows.net/ck`,
        `hdfs:/ck`, `dbfs:/mnt/ck`. Write `./odd:name` for a directory with a colon in its name.
        Nothing is unescaped: `%20` is three characters, as it is for Spark.
    session
        For schemes that only Hadoop can open, a Spark Classic session. Object stores take keys and
        endpoint from the Hadoop settings of any session.
    options
        For object stores: see `trimtab.journal.store.objects.ObjectStore`. What neither they nor
        the session say comes from the environment.

    Examples
    --------
    >>> import tempfile
    >>> place = store(tempfile.mkdtemp())
    >>> place.create("plans/0.json", b"{}")
    >>> place.list("plans/"), place.read("plans/0.json")
    (['plans/0.json'], b'{}')
    >>> place.create("plans/0.json", b"[]")
    Traceback (most recent call last):
        ...
    trimtab.errors.AlreadyThere: ...plans/0.json was created before; ...
    """
    text, scheme, rest = _taken_apart(where)
    if scheme in OBJECT_STORES:
        from trimtab.journal.store.objects import ObjectStore

        return ObjectStore(text, **{**object_store_settings(text, session), **options})
    if options:
        raise InvalidArgument(
            f"{text!r} takes no options; got {', '.join(sorted(options))}; only object stores do"
        )
    if scheme is None:
        return LocalStore(text)
    if scheme == "file":
        return LocalStore(_local_path(rest))
    if session is None:
        raise InvalidArgument(
            f"{text!r} can only be opened through Spark; give a Spark Classic session as well, or "
            f"a directory, or an address that begins with {', '.join(sorted(OBJECT_STORES))}"
        )
    from trimtab.journal.store.hadoop import HadoopStore

    return HadoopStore(text, session)


def needs_session(where: str | os.PathLike[str]) -> bool:
    """Tell whether an address can only be opened with a Spark session."""
    scheme = _taken_apart(where)[1]
    return scheme is not None and scheme != "file" and scheme not in OBJECT_STORES


def _taken_apart(where: str | os.PathLike[str]) -> tuple[str, str | None, str]:
    """Return an address as text, its scheme if it has one, and what follows the colon."""
    text = os.fspath(where) if isinstance(where, str | os.PathLike) else ""
    if not text or NOT_IN_NAMES.search(text):
        raise InvalidArgument(
            f"a store must be at a directory or an address such as s3://bucket/ck; got {where!r}"
        )
    found = _SCHEME.match(text)
    if found is None:
        return text, None, text
    rest = text[found.end() :]
    if not rest.startswith("/"):
        raise InvalidArgument(
            f"{text!r} begins like an address but has no slash after the colon; write "
            f"{found[1]}:/{rest} for an address, ./{text} for a directory of that name"
        )
    return text, found[1].lower(), rest


def _local_path(rest: str) -> str:
    """Return the directory behind `file:`; a host other than this one is refused."""
    if not rest.startswith("//"):
        return rest
    host, _, path = rest[2:].partition("/")
    if host not in ("", "localhost"):
        raise InvalidArgument(
            f"'file:{rest}' names the host {host!r}; files of this machine are file:/path or "
            "file:///path"
        )
    return f"/{path}"
