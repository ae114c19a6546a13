"""The checkpoint directory of a stream: what is kept, under which name, and for how long.

    meta.json            which query this is
    spark/               Spark's own checkpoint: offsets and commits
    plans/<batch>.json   how a batch routes, written before it runs
    state/<batch>.json   all that was known after a batch, written when it is done
    panes/<name>/        partial results of panes, as Parquet
    routers/<batch>/     what the routers of the map tasks had learned
    events/              the event log
    epochs/<n>           which driver may write

A file appears whole or not at all, and is named by its batch: a batch that runs again writes the
same names. A batch is done when its state is there.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import uuid
from pathlib import Path
from typing import Any

from trimtab import state as states
from trimtab.errors import AlreadyThere, CorruptState, InvalidArgument, NotThere, TakenOver
from trimtab.journal.epoch import Epoch, take_epoch
from trimtab.journal.files import local_path, spark_address
from trimtab.journal.store.local import LocalStore

KEPT_BATCHES = 3
"""Plans and states of this many batches are kept: the one that runs, and the ones it may need."""

_META = "meta.json"


def identity_of(where: object) -> dict[str, Any] | None:
    """Return the identity of the query that a checkpoint directory belongs to.

    It is what `Checkpoint` was given when the query first started; None if no query has.
    """
    meta = local_path(where, "checkpoint") / _META
    if not meta.exists():
        return None
    found = states.parse(meta.read_bytes(), str(meta))
    if found.get("kind") != "query":
        raise CorruptState(
            f"{meta} has the kind {found.get('kind')!r}, not 'query': files of the checkpoint were "
            "mixed up"
        )
    return {name: value for name, value in found.items() if name not in ("kind", "id")}


class Checkpoint:
    """A checkpoint directory, opened for one query.

    Parameters
    ----------
    where
        The directory, made if it is not there.
    identity
        All that a result depends on: operation, keys, windows, aggregates. The number of lanes and
        the partitioner are not part of it, so that they may change between two starts.
    """

    def __init__(self, where: object, identity: dict[str, Any]) -> None:
        self.root = local_path(where, "checkpoint")
        if self.root.exists() and not self.root.is_dir():
            raise InvalidArgument(f"checkpoint {str(self.root)!r} is a file; give a directory")
        self.identity = json.loads(json.dumps(identity))
        self._store = LocalStore(self.root)
        self._epoch: Epoch | None = None

    @property
    def for_spark(self) -> str:
        """The directory in which Spark keeps its own checkpoint."""
        return spark_address(self.root / "spark")

    def open(self) -> str:
        """Make the directory, or check that it belongs to this query; return the query's id."""
        # What a stream keeps may tell of people: it is for the owner's eyes only.
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        meta = self.root / _META
        if meta.exists():
            found = states.parse(meta.read_bytes(), str(meta))
            self._check(found, meta)
            return str(found["id"])
        strangers = sorted(p.name for p in self.root.iterdir() if not p.name.startswith("."))
        if not any((self.root / "spark" / "commits").glob("[0-9]*")):
            # On Spark Connect we come second: Spark has made its part, and committed nothing yet.
            strangers = [name for name in strangers if name != "spark"]
        if strangers:
            raise CorruptState(
                f"checkpoint {str(self.root)!r} has no meta.json but holds {strangers[0]!r}: it is "
                "not a checkpoint of Trimtab, or damaged; give another directory"
            )
        query = uuid.uuid4().hex
        text = states.dump({"kind": "query", "id": query, **self.identity})
        self._store.create(_META, text.encode())
        return query

    def take_over(self) -> None:
        """Become the one driver that writes here; one that wrote before stops when it notices.

        To be called when the first batch runs: a query that was only tried must not stop another.
        """
        owner = f"process {os.getpid()} on {socket.gethostname()}"
        self._epoch = Epoch(self._store, take_epoch(self._store, owner))

    def check_epoch(self) -> None:
        """Stop, by raising `TakenOver`, if another driver has taken over."""
        if self._epoch is not None:
            self._epoch.check()

    def _check(self, found: dict[str, Any], meta: Path) -> None:
        wanted = {"kind": "query", "id": found.get("id"), **self.identity}
        for name in sorted(wanted.keys() | found.keys()):
            if found.get(name) != wanted.get(name):
                raise CorruptState(
                    f"{meta} belongs to another query: its {name} is {found.get(name)!r}, here it "
                    f"is {wanted.get(name)!r}; give another checkpoint directory"
                )

    def read_plan(self, batch: int) -> dict[str, Any] | None:
        """Return the plan recorded for a batch; None if the batch never came that far."""
        return self._read("plans", batch)

    def write_plan(self, batch: int, record: dict[str, Any]) -> None:
        """Record how a batch routes; call it before the batch runs."""
        self._write("plans", batch, record)

    def read_state(self, batch: int) -> dict[str, Any] | None:
        """Return what was known after a batch; None if the batch was never done."""
        return self._read("state", batch)

    def write_state(self, batch: int, record: dict[str, Any]) -> None:
        """Record what is known after a batch: from here on the batch is done."""
        self._write("state", batch, record)

    def last_state(self) -> int:
        """Return the number of the newest batch that is done, -1 if there is none."""
        return max(self._batches("state"), default=-1)

    def directory(self, kind: str, name: str) -> Path:
        """Return the directory of this name among those of a kind: `panes` or `routers`."""
        return self.root / kind / name

    def prune(self, batch: int, panes: set[str]) -> None:
        """Remove what a restart after `batch` cannot need.

        `panes` names the directories of panes that are still in use.
        """
        for kind in ("plans", "state"):
            for old in self._batches(kind):
                if old <= batch - KEPT_BATCHES:
                    self._store.remove(f"{kind}/{old}.json")
        for place in self._entries("routers"):
            if place.name.isdigit() and int(place.name) <= batch - KEPT_BATCHES:
                shutil.rmtree(place, ignore_errors=True)
        for place in self._entries("panes"):
            if place.name not in panes:
                shutil.rmtree(place, ignore_errors=True)

    def _entries(self, kind: str) -> list[Path]:
        place = self.root / kind
        return sorted(place.iterdir()) if place.is_dir() else []

    def _batches(self, kind: str) -> list[int]:
        names = (name.removeprefix(f"{kind}/") for name in self._store.list(f"{kind}/"))
        stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
        return [int(stem) for stem in stems if stem.isdigit()]

    def _read(self, kind: str, batch: int) -> dict[str, Any] | None:
        path = self.root / kind / f"{batch}.json"
        try:
            text = self._store.read(f"{kind}/{batch}.json")
        except NotThere:
            return None
        record = states.parse(text, str(path))
        if record.get("kind") != kind or record.get("batch") != batch:
            raise CorruptState(
                f"{path} holds the {record.get('kind')} of batch {record.get('batch')}, not the "
                f"{kind} of batch {batch}: files of the checkpoint were mixed up"
            )
        return record

    def _write(self, kind: str, batch: int, record: dict[str, Any]) -> None:
        self.check_epoch()
        name = f"{kind}/{batch}.json"
        try:
            self._store.create(name, states.dump({**record, "kind": kind, "batch": batch}).encode())
        except AlreadyThere as error:
            self.check_epoch()
            raise TakenOver(
                f"{self.root / name} was written by another driver while this one ran batch "
                f"{batch}; this one stops and has lost nothing"
            ) from error
