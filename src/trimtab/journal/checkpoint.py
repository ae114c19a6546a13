"""The checkpoint directory of a stream: what is kept, under which name, and for how long.

    meta.json            which query this is
    spark/               Spark's own checkpoint: offsets and commits
    plans/<batch>.json   how a batch routes, written before it runs
    state/<batch>.json   all that was known after a batch, written when it is done
    panes/<name>/        partial results of panes, as Parquet
    routers/<name>/      what the routers of the map tasks had learned
    manifests/           which files belong to each of these folders of panes
    keyed/<name>.arrow   states of keys, by batch and lane
    events/              the event log
    epochs/<n>           which driver may write

All but panes and Spark's own part are objects of one `Store`, chosen by the checkpoint's address:
they appear whole or not at all, and are named by their batch. What Spark's tasks write goes to
folders of the same address, whose names also tell the epoch: no two drivers write to one folder. A
batch is done when its state is there.
"""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Collection
from typing import Any

from trimtab import state as states
from trimtab.errors import AlreadyThere, CorruptState, NotThere, TakenOver
from trimtab.journal.epoch import Epoch, take_epoch
from trimtab.journal.manifest import manifests, remove_manifest
from trimtab.journal.store import Store, store

KEPT_BATCHES = 3
"""Plans and states of this many batches are kept: the one that runs, and the ones it may need."""

_META = "meta.json"


def identity_of(place: Store) -> dict[str, Any] | None:
    """Return the identity of the query that a checkpoint belongs to.

    It is what `Checkpoint` was given when the query first started; None if no query has.
    """
    try:
        text = place.read(_META)
    except NotThere:
        return None
    source = f"{place.uri}/{_META}"
    found = states.parse(text, source)
    if found.get("kind") != "query":
        raise CorruptState(
            f"{source} has the kind {found.get('kind')!r}, not 'query': files of the checkpoint "
            "were mixed up"
        )
    return {name: value for name, value in found.items() if name not in ("kind", "id")}


class Checkpoint:
    """A checkpoint, opened for one query.

    Parameters
    ----------
    where
        A directory, made if it is not there, an address, or a store; see
        `trimtab.journal.store.store`.
    identity
        All that a result depends on: operation, keys, windows, aggregates. The number of lanes and
        the partitioner are not part of it, so that they may change between two starts.
    session
        The Spark session, for addresses that are opened by its settings or through it.
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | Store,
        identity: dict[str, Any],
        session: Any = None,
    ) -> None:
        self.store = where if isinstance(where, Store) else store(where, session)
        self.identity = json.loads(json.dumps(identity))
        self._epoch: Epoch | None = None

    @property
    def uri(self) -> str:
        """The address, with its scheme."""
        return self.store.uri

    @property
    def for_spark(self) -> str:
        """The folder in which Spark keeps its own checkpoint."""
        return f"{self.uri}/spark"

    def open(self) -> str:
        """Begin a checkpoint, or check that it belongs to this query; return the query's id."""
        source = f"{self.uri}/{_META}"
        try:
            found = states.parse(self.store.read(_META), source)
        except NotThere:
            self._check_empty()
            query = uuid.uuid4().hex
            text = states.dump({"kind": "query", "id": query, **self.identity})
            self.store.create(_META, text.encode())
            return query
        self._check(found, source)
        return str(found["id"])

    def _check_empty(self) -> None:
        strangers = sorted(self.store.entries())
        if not self.store.sizes("spark/commits"):
            # On Spark Connect we come second: Spark has made its part, and committed nothing yet.
            strangers = [name for name in strangers if name != "spark"]
        if strangers:
            raise CorruptState(
                f"checkpoint {self.uri!r} has no meta.json but holds {strangers[0]!r}: it is "
                "not a checkpoint of Trimtab, or damaged; give another directory"
            )

    def take_over(self) -> None:
        """Become the one driver that writes here; one that wrote before stops when it notices.

        To be called when the first batch runs: a query that was only tried must not stop another.
        """
        owner = f"process {os.getpid()} on {socket.gethostname()}"
        self._epoch = Epoch(self.store, take_epoch(self.store, owner))

    def check_epoch(self) -> None:
        """Stop, by raising `TakenOver`, if another driver has taken over."""
        if self._epoch is not None:
            self._epoch.check()

    def folder(self, kind: str, name: str) -> str:
        """Return the folder of this name, of a kind, that only this driver writes to.

        `kind` is `panes` or `routers`; the folder's name in the store is returned.
        """
        return f"{kind}/{name}-{0 if self._epoch is None else self._epoch.number}"

    def _check(self, found: dict[str, Any], meta: str) -> None:
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

    def batches_with_state(self) -> list[int]:
        """Return the numbers of the batches whose states are there, rising."""
        return sorted(self._batches("state"))

    def prune(self, batch: int, panes: Collection[str]) -> None:
        """Remove what a restart after `batch` cannot need.

        `panes` names the folders of panes that are still in use.
        """
        oldest = batch - KEPT_BATCHES + 1
        for kind in ("plans", "state"):
            for old in self._batches(kind):
                if old < oldest:
                    self.store.remove(f"{kind}/{old}.json")
        for folder in self._folders("routers"):
            if _batch_of(folder) < oldest:
                self.store.remove_folder(folder)
        # A folder whose manifest was never written belongs to a batch that was interrupted.
        for folder in {*self._folders("panes"), *manifests(self.store)} - {*panes}:
            if _batch_of(folder) <= batch:
                remove_manifest(self.store, folder)
                self.store.remove_folder(folder)

    def keep_keyed(self, batch: int, needed: set[str]) -> None:
        """Remove the files of keyed state, up to a batch that is done, that are not `needed`.

        Those of attempts that were lost are among them: no manifest names them. Files of later
        batches stay, since another driver may have taken over and be writing them.
        """
        for name in self.store.list("keyed/"):
            number = name.removeprefix("keyed/").partition("-")[0]
            if name not in needed and number.isdigit() and int(number) <= batch:
                self.store.remove(name)

    def _folders(self, kind: str) -> list[str]:
        folders = (f"{kind}/{name}" for name in sorted(self.store.folders(kind)))
        return [folder for folder in folders if _batch_of(folder) >= 0]

    def _batches(self, kind: str) -> list[int]:
        names = (name.removeprefix(f"{kind}/") for name in self.store.list(f"{kind}/"))
        stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
        return [int(stem) for stem in stems if stem.isdigit()]

    def _read(self, kind: str, batch: int) -> dict[str, Any] | None:
        path = f"{self.uri}/{kind}/{batch}.json"
        try:
            text = self.store.read(f"{kind}/{batch}.json")
        except NotThere:
            return None
        record = states.parse(text, path)
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
            self.store.create(name, states.dump({**record, "kind": kind, "batch": batch}).encode())
        except AlreadyThere as error:
            self.check_epoch()
            raise TakenOver(
                f"{self.uri}/{name} was written by another driver while this one ran batch "
                f"{batch}; this one stops and has lost nothing"
            ) from error


def _batch_of(folder: str) -> int:
    """Return the batch that a folder's name begins with, -1 if it begins with none."""
    number = folder.partition("/")[2].partition("-")[0]
    return int(number) if number.isdigit() else -1
