"""What Spark's settings for Hadoop say of an object store: keys, endpoint and region."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_S3A = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint.region": "region",
    "endpoint": "endpoint",
}
"""Settings of Hadoop's S3 client, behind `fs.s3a.`, and what obstore calls them."""


def object_store_settings(where: str, session: Any) -> dict[str, Any]:
    """Return the options with which `ObjectStore` opens an address as the session would.

    Settings that Hadoop does not have are left to the environment. A session that cannot be asked,
    or None, has no settings.

    Parameters
    ----------
    where
        An address such as `s3a://bucket/ck`.
    session
        A session of Spark Classic or Spark Connect.
    """
    found = re.match(r"([^:/]+)://([^/]+)", where)
    if found is None or session is None:
        return {}
    scheme, authority = found[1].lower(), found[2]
    look = _look_up(session)
    config: dict[str, str] = {}
    if scheme in ("s3", "s3a"):
        config = _of_s3(authority, look)
    elif scheme in ("abfs", "abfss"):
        key = look(f"fs.azure.account.key.{authority.rpartition('@')[2]}")
        config = {"account_key": key} if key else {}
    elif scheme == "gs":
        file = look("fs.gs.auth.service.account.json.keyfile")
        config = {"service_account": file} if file else {}
    options: dict[str, Any] = {"config": config} if config else {}
    if config.get("endpoint", "").startswith("http://"):
        options["client_options"] = {"allow_http": True}
    return options


def _of_s3(bucket: str, look: Callable[[str], str | None]) -> dict[str, str]:
    config = {}
    for name, ours in _S3A.items():
        # As in Hadoop, what is said of one bucket goes before what is said of all.
        value = look(f"fs.s3a.bucket.{bucket}.{name}") or look(f"fs.s3a.{name}")
        if value:
            config[ours] = value
    endpoint = config.get("endpoint")
    if endpoint and "://" not in endpoint:
        safe = (look("fs.s3a.connection.ssl.enabled") or "true").lower() == "true"
        config["endpoint"] = f"{'https' if safe else 'http'}://{endpoint}"
    return config


def _look_up(session: Any) -> Callable[[str], str | None]:
    classic = getattr(session, "_jsparkSession", None)
    if classic is not None:
        # These hold the cluster's files of settings as well.
        settings = classic.sessionState().newHadoopConf()
        return lambda name: settings.get(name)
    return lambda name: (
        session.conf.get(name, None) or session.conf.get(f"spark.hadoop.{name}", None)
    )
