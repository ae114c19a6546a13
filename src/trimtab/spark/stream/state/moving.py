"""State that moves: when the plan changes, keys take their state along, in the batch's own shuffle.

Every lane of the old plan is looked through for keys that belong to another lane now, and each of
them is sent there, one row with its state. The lane's own task finds the same keys, and notes that
they have left. Files never change, so that a second run sends the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from trimtab._key_arrays import host_of
from trimtab.journal.keyed.entries import Longs
from trimtab.journal.keyed.lane_file import LaneFile
from trimtab.journal.keyed.stack import GONE, HELD, NO_TIMEOUT, Stack
from trimtab.journal.store import Store
from trimtab.plan import Plan
from trimtab.spark.shipping import shipped
from trimtab.spark.stream.state.shape import Kind, Shape

ENTRIES_PER_TASK = 250_000
"""Entries that one task looks at: some 10 ms, without those that move."""

ROWS_AT_ONCE = 10_000
"""Rows that go to Spark together."""


@dataclass(frozen=True)
class Mover:
    """The function that Spark calls for every lane of the old plan.

    Attributes
    ----------
    store, shape
        The checkpoint's store, which travels; names and types.
    stacks
        The files of each old lane, the newest first.
    plan
        The new plan, as text.
    """

    store: Store
    shape: Shape
    stacks: tuple[tuple[LaneFile, ...], ...]
    plan: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows by which keys of these lanes move."""
        plan = Plan.from_json(self.plan)
        for batch in batches:
            for lane in batch.column(0).to_pylist():
                yield from self._from_lane(lane, plan)

    def _from_lane(self, lane: int, plan: Plan) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        stack = Stack(self.store, self.stacks[lane], self.shape.entries)
        entries = stack.leaving(lane, lambda hashes: lanes_by(plan, hashes))
        lanes = lanes_by(plan, entries.column("hash").to_numpy())
        held = entries.column("kind").to_numpy() == HELD
        kinds = np.where(held, Kind.HELD_IN, Kind.AWAITED_IN).astype(np.int8)
        names = self.shape.moved.names
        fixed = [pa.array(lanes), entries["hash"], entries["check"], pa.array(kinds)]
        there = pa.table([*fixed, entries["timeout"], *entries.columns[4:]], names=names)
        spent = int((time.perf_counter() - started) * 1e6)
        for table in (there, _mark(there, lane % plan.lanes, spent, self.shape)):
            yield from table.combine_chunks().to_batches(max_chunksize=ROWS_AT_ONCE)


def left_behind(stack: Stack, lane: int, plan: Plan) -> pa.Table:
    """Return, for every key of a lane that belongs elsewhere now, an entry that it is gone."""
    entries = stack.leaving(lane, lambda hashes: lanes_by(plan, hashes))
    count = entries.num_rows
    gone = {
        "kind": pa.array(np.full(count, GONE, dtype=np.int8)),
        "timeout": pa.array(np.full(count, NO_TIMEOUT)),
    }
    kept = ("hash", "check")
    columns = [
        entries[one.name] if one.name in kept else gone.get(one.name, pa.nulls(count, one.type))
        for one in entries.schema
    ]
    return pa.table(columns, schema=entries.schema)


def lanes_by(plan: Plan, hashes: Longs) -> NDArray[np.int32]:
    """Return the lane of each key by a plan that splits none, as `Plan.route` does.

    Kernels would be quicker; but every Python process of Spark would load them first, which takes
    most of a second, in the very batch that should not take longer than others.
    """
    keys = hashes.view(np.uint64)
    lanes = plan.hosts[host_of(keys, plan.hosts.size)]
    at, heavy = plan.find(keys)
    lanes[heavy] = plan.lane_of[plan.starts[at[heavy]]]
    return lanes


def moved_rows(session: SparkSession, mover: Mover, slots: int) -> DataFrame:
    """Return the rows by which states move, on no lane yet.

    Few tasks look for them, since a task takes longer to start than to look at its entries.
    """
    lanes, entries = len(mover.stacks), sum(file.rows for files in mover.stacks for file in files)
    tasks = min(lanes, slots, 1 + entries // ENTRIES_PER_TASK)
    numbers = session.range(0, lanes, 1, tasks)
    return numbers.mapInArrow(shipped(mover.__call__), mover.shape.moved)


def _mark(there: pa.Table, lane: int, micros: int, shape: Shape) -> pa.Table:
    """Return one row that carries the time which the mover has spent."""
    least = np.iinfo(np.int64).min
    return _filled(
        {
            shape.lane: pa.array([lane], pa.int32()),
            shape.hash: pa.array([least], pa.int64()),
            shape.check: pa.array([0], pa.int64()),
            shape.kind: pa.array([Kind.MARK], pa.int8()),
            shape.timeout: pa.array([micros], pa.int64()),
        },
        there,
    )


def _filled(given: dict[str, pa.Array], like: pa.Table) -> pa.Table:
    count = len(next(iter(given.values())))
    columns = [given.get(f.name, pa.nulls(count, f.type)) for f in like.schema]
    return pa.table(columns, schema=like.schema)
