"""A store in S3, Google Cloud Storage or Azure."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import from_url

from trimtab.errors import InvalidArgument, TrimtabError
from trimtab.journal.store.base import Store

if TYPE_CHECKING:
    from obstore import GetOptions

_WRITER = "trimtabwriter"
"""The metadata that tells who wrote an object. Azure allows letters and digits only."""

_ATTEMPTS = 8
"""How often a name that is taken when we write and free when we look is tried."""


_AT_ONCE = 16
"""Files that are read at the same time."""


class ObjectStore(Store):
    """Objects below a prefix of a bucket; to create one is a single conditional put.

    Parameters
    ----------
    where
        `s3://bucket/path`, `s3a://`, `gs://`, `abfss://container@account.dfs.core.windows.net/path`
        or `az://container/path`. The path is taken as it stands, with nothing unescaped, as Spark
        takes it. The bucket must exist.
    options
        What `obstore.store.from_url` takes: `config`, `client_options`, `retry_config`,
        `credential_provider`, or single settings such as `region`. What is not given comes from the
        environment: `AWS_ACCESS_KEY_ID`, `AWS_REGION`, `AWS_ENDPOINT_URL`,
        `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_KEY` and their kin.

    Notes
    -----
    A put that was carried out, but whose answer got lost, is sent again and then finds its own
    object. Every object therefore carries the name of its writer: who is told that the name is
    taken looks whether it was taken by itself.
    """

    def __init__(self, where: str, **options: Any) -> None:
        self._uri = where.rstrip("/")
        parts = re.fullmatch(r"([^:/]+://[^/]+)(.*)", self._uri, re.DOTALL)
        if parts is None:
            scheme = where.partition(":")[0]
            raise InvalidArgument(
                f"{where!r} names no bucket; write {scheme}://bucket/path, with two slashes"
            )
        bucket, path = parts.groups()
        self._options = options
        try:
            self._bucket = from_url(bucket + quote(path), **options)
        except (BaseError, ValueError, TypeError) as error:
            raise InvalidArgument(f"{where!r} cannot be opened: {_first_line(error)}") from error

    @property
    def uri(self) -> str:
        """The place as it was given."""
        return self._uri

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to tasks and to Connect's server as address and options."""
        return _again, (self._uri, self._options)

    def _create(self, name: str, data: bytes) -> None:
        writer = uuid.uuid4().hex
        with self._speaking(f"create {name!r}"):
            for _ in range(_ATTEMPTS):
                try:
                    obstore.put(
                        self._bucket, name, data, mode="create", attributes={_WRITER: writer}
                    )
                    return
                except AlreadyExistsError as error:
                    try:
                        holder = self._writer(name)
                    except FileNotFoundError:
                        # Removed since; or S3 refused two writers at once and neither has won.
                        continue
                    if holder == writer:
                        return
                    raise self._already_there(name) from error
        raise self._failed(f"create {name!r}", f"taken and free again {_ATTEMPTS} times")

    def _writer(self, name: str) -> str | None:
        found = obstore.get(self._bucket, name, options={"head": True})
        writer = found.attributes.get(_WRITER)
        return None if writer is None else str(writer)

    def _read(self, name: str) -> bytes:
        return self._read_file(name, 0)

    def _read_file(self, name: str, start: int) -> bytes:
        with self._speaking(f"read {name!r}"):
            try:
                # A range up to the end is one that Azure has as well.
                options: GetOptions = {"range": {"offset": start}} if start else {}
                return bytes(obstore.get(self._bucket, name, options=options).bytes())
            except FileNotFoundError as error:
                raise self._not_there(name) from error

    def ends(self, starts: Mapping[str, int]) -> list[bytes]:
        """Return what several files hold; a distant place answers many questions at once."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(self.read_file, starts.keys(), starts.values()))

    def _below(self, folder: str) -> Iterator[str]:
        return (name for name, _ in self._sizes(folder, ""))

    def _sizes(self, folder: str, after: str) -> Iterator[tuple[str, int]]:
        with self._speaking(f"list {folder!r}"):
            for chunk in obstore.list(self._bucket, prefix=folder or None, offset=after or None):
                yield from ((found["path"], found["size"]) for found in chunk)

    def _entries(self, folder: str) -> list[str]:
        with self._speaking(f"list {folder!r}"):
            found = obstore.list_with_delimiter(self._bucket, prefix=folder or None)
        names = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
        return [name.rpartition("/")[2] for name in names]

    def folders(self, folder: str) -> set[str]:
        """Return the names of the folders in a folder that hold anything, be it out of sight.

        Hadoop may have left empty objects as marks of folders, which cannot be removed from here:
        their names end with a slash.
        """
        below = (name.removeprefix(f"{folder}/") for name in self._below(folder))
        return {name.partition("/")[0] for name in below if "/" in name}

    def _write_file(self, name: str, data: bytes) -> None:
        self._create(name, data)

    def _remove_file(self, name: str) -> None:
        self._remove(name)

    def _remove_folder(self, folder: str) -> None:
        with self._speaking(f"remove {folder!r}"):
            names = [
                found["path"] for chunk in obstore.list(self._bucket, folder) for found in chunk
            ]
            # What is in a folder before the folder, where the store has such.
            obstore.delete(self._bucket, sorted(names, reverse=True))

    def _remove(self, name: str) -> None:
        with self._speaking(f"remove {name!r}"):
            try:
                obstore.delete(self._bucket, name)
            except FileNotFoundError:
                return

    @contextmanager
    def _speaking(self, what: str) -> Iterator[None]:
        """Turn errors of the object store into ours; a missing bucket is one of them."""
        try:
            yield
        except TrimtabError:
            raise
        except (BaseError, OSError) as error:
            raise self._failed(what, _first_line(error)) from error


def _again(where: str, options: dict[str, Any]) -> ObjectStore:
    return ObjectStore(where, **options)


def _first_line(error: Exception) -> str:
    """Return the sentence of an error without the dump that obstore adds below it."""
    return str(error).partition("\n")[0].strip()
