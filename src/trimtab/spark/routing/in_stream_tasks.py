"""Routers in the map tasks of a stream: each carries its state from batch to batch through files.

Map task i goes on from the state that instance i left in the batch before. It reads that state and
leaves its own in the checkpoint, so that nothing passes through the driver but Dalton's messages. A
task that runs again starts from the same state and leaves the same one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab import state as states
from trimtab.control.q_sync import QTableReducer
from trimtab.errors import CorruptState
from trimtab.journal.checkpoint import write_whole
from trimtab.routers import Router, router, router_class
from trimtab.routers.dalton import DaltonRouter
from trimtab.spark.columns import spare_names

Batches = Iterator[pa.Array]


def route_with_memory(
    df: DataFrame,
    name: str,
    key_hash: Column,
    row_hash: Column,
    *,
    router_name: str,
    parameters: dict[str, Any],
    before: Path | None,
    after: Path,
) -> DataFrame:
    """Add the lane that a router gives each row as the integer column `name`.

    Parameters
    ----------
    df, name, key_hash, row_hash
        As in `routing.route_with_router`: rows are taken in the order of their hash.
    router_name, parameters
        The router's registry name and constructor arguments.
    before, after
        Directories with the states before the batch, if there are any, and for those after it.
    """
    hashed, row = spare_names([*df.columns, name], "hash", "row")
    sorted_rows = df.select("*", key_hash.alias(hashed), row_hash.alias(row)).sortWithinPartitions(
        F.col(row), F.col(hashed)
    )
    known = len(_instances(before)) if before is not None else 0
    route = _routing(router_name, parameters, before, known, after)
    return sorted_rows.select("*", route(F.col(hashed)).alias(name)).drop(hashed, row)


def _routing(
    name: str, parameters: dict[str, Any], before: Path | None, known: int, after: Path
) -> Callable[[Column], Column]:
    def route(batches: Batches) -> Batches:
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        if before is None or known == 0:
            instance = router(name, **parameters)
        else:
            # A task beyond the last batch's tasks learns from one of them.
            instance = _restored(before / f"{number % known}.json", name)
        for batch in batches:
            hashes = np.asarray(batch.to_numpy(zero_copy_only=False), dtype=np.int64)
            yield pa.array(instance.route(hashes), type=pa.int32())
        instance.advance()
        write_whole(after / f"{number}.json", states.dump(instance.state()))

    # Routing the same rows twice would give other lanes: Spark must not copy the call about.
    return F.arrow_udf(route, "int").asNondeterministic()  # type: ignore[no-any-return]


def gather(
    before: Path | None, after: Path, reducer: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Bring the instances together after a batch; give the state of Dalton's reducer, if any.

    Instances whose tasks had no rows keep their state. Daltons send their messages to the reducer
    and get its answer, one round per batch.
    """
    after.mkdir(parents=True, exist_ok=True)
    there = {path.name for path in _instances(after)}
    for path in _instances(before) if before is not None else []:
        if path.name not in there:
            shutil.copyfile(path, after / path.name)
    paths = _instances(after)
    _close_ranks(paths, after)
    paths = _instances(after)
    if not paths:
        return reducer
    first = states.parse(paths[0].read_bytes(), str(paths[0]))
    if first.get("name") != DaltonRouter.name or not first["parameters"].get("cooperate"):
        return None
    return _cooperate(paths, reducer)


def _close_ranks(paths: list[Path], after: Path) -> None:
    """Return instance numbers without gaps, which tasks without rows leave in a first batch."""
    for number, path in enumerate(paths):
        if path.name != f"{number}.json":
            path.rename(after / f"{number}.json")


def _cooperate(paths: list[Path], reducer: dict[str, Any] | None) -> dict[str, Any]:
    routers = [_restored(path, DaltonRouter.name) for path in paths]
    daltons = [made for made in routers if isinstance(made, DaltonRouter)]
    messages = [dalton.sync_message() for dalton in daltons]
    # An instance that joined later takes part in the round of the others.
    made = None if reducer is None else QTableReducer.restore(reducer)
    if made is None or (made.partitioners, made.lanes) != (len(daltons), daltons[0].lanes):
        made = QTableReducer(
            daltons[0].lanes,
            len(daltons),
            interval=max(1, max(message.records for message in messages)),
            heat=daltons[0].heat,
        )
    table = made.merge(messages)
    for dalton, path in zip(daltons, paths, strict=True):
        dalton.receive(table)
        write_whole(path, states.dump(dalton.state()))
    return made.state()


def _restored(path: Path, name: str) -> Router:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise CorruptState(f"{path} is missing or cannot be read: {error}") from error
    try:
        return router_class(name).restore(states.parse(text, str(path)))
    except CorruptState as error:
        raise CorruptState(f"{path} cannot be used: {error}") from error


def _instances(place: Path) -> list[Path]:
    if not place.is_dir():
        return []
    found = [p for p in place.iterdir() if p.suffix == ".json" and p.stem.isdigit()]
    return sorted(found, key=lambda path: int(path.stem))
