"""The places that every kind of store is tested at, and how to look behind the store's back."""

from __future__ import annotations

import os
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from tests.journal.store.s3_server import BUCKET, Shelf
from trimtab.journal.store.base import Store
from trimtab.journal.store.hadoop import HadoopStore
from trimtab.journal.store.local import LocalStore
from trimtab.journal.store.objects import ObjectStore

OUTSIDE_S3 = os.environ.get("TRIMTAB_TEST_S3")
"""The endpoint of another S3 to run the suite on: MinIO, moto, with a bucket of that name."""


class Place(ABC):
    """One place, which several stores can be opened on."""

    kind: str

    @abstractmethod
    def open(self) -> Store:
        """Return a store that shares nothing with those opened before but the place."""

    @abstractmethod
    def told(self) -> dict[str, str]:
        """Return what another process must know to open the same place."""

    @abstractmethod
    def raw(self) -> list[bytes]:
        """Return everything that lies there, whether the store shows it or not."""


class LocalPlace(Place):
    kind = "local"

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def open(self) -> Store:
        return LocalStore(self.directory)

    def told(self) -> dict[str, str]:
        return {"kind": self.kind, "where": str(self.directory)}

    def raw(self) -> list[bytes]:
        return [path.read_bytes() for path in self.directory.rglob("*") if path.is_file()]


class HadoopPlace(LocalPlace):
    kind = "hadoop"

    def __init__(self, directory: Path, session: Any) -> None:
        super().__init__(directory)
        self.session = session

    def open(self) -> Store:
        return HadoopStore(f"file:{self.directory}", self.session)

    def raw(self) -> list[bytes]:
        files = (path for path in self.directory.rglob("*") if path.is_file())
        return [path.read_bytes() for path in files if path.suffix != ".crc"]


class S3Place(Place):
    kind = "s3"

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.endpoint = OUTSIDE_S3 or shelf.endpoint
        self.where = f"s3://{BUCKET}/{uuid.uuid4().hex}/ck"

    def open(self) -> Store:
        return open_s3(self.where, self.endpoint)

    def told(self) -> dict[str, str]:
        return {"kind": self.kind, "where": self.where, "endpoint": self.endpoint}

    def raw(self) -> list[bytes]:
        if OUTSIDE_S3:
            store = self.open()
            return [store.read(name) for name in store.list("")]
        return [body for body, _ in self.shelf.objects.values()]


def open_s3(where: str, endpoint: str) -> ObjectStore:
    return ObjectStore(
        where,
        config={
            "access_key_id": "any",
            "secret_access_key": "any",
            "region": "us-east-1",
            "endpoint": endpoint,
        },
        client_options={"allow_http": True},
    )
