"""State that moves: when the plan changes, keys take their state along, in the batch's own shuffle.

Every lane of the old plan looks through its own files for keys that belong to another lane now, and
sends each of them one row with its state; to itself it sends one that says that the key has left.
Files never change, so that a second run sends the same rows.
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
from trimtab.journal.keyed.stack import HELD, NO_TIMEOUT, Stack
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
        tables = [there]
        if lane < plan.lanes:
            tables.append(_left(there, lane, self.shape))
        spent = int((time.perf_counter() - started) * 1e6)
        tables.append(_mark(there, lane % plan.lanes, spent, self.shape))
        for table in tables:
            yield from table.combine_chunks().to_batches(max_chunksize=ROWS_AT_ONCE)


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


def _left(there: pa.Table, lane: int, shape: Shape) -> pa.Table:
    """Return the rows that tell the old lane which keys have left it."""
    kept = {
        shape.lane: pa.array(np.full(there.num_rows, lane, dtype=np.int32)),
        shape.hash: there[shape.hash],
        shape.check: there[shape.check],
        shape.kind: pa.array(np.full(there.num_rows, Kind.LEFT, dtype=np.int8)),
        shape.timeout: pa.array(np.full(there.num_rows, NO_TIMEOUT)),
    }
    return _filled(kept, there)


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
