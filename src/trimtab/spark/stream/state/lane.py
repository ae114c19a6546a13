"""One lane's task in a batch: rows and states in, results and one new file out.

Rows that come out and the file that is kept are of the same attempt of the task: the file's name is
among the rows, and Spark commits the rows of one attempt only.
"""

from __future__ import annotations

import json
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import types as T

from trimtab.journal.keyed.entries import GONE, NO_TIMEOUT, Longs
from trimtab.journal.keyed.lane_file import LaneFile
from trimtab.journal.keyed.stack import AWAITED, HELD, Stack
from trimtab.journal.store import Store
from trimtab.plan import Plan
from trimtab.spark.counting.lane_clock import TaskClock
from trimtab.spark.stream.state.conversions import arrow_schema
from trimtab.spark.stream.state.grouped_rows import SortedRows
from trimtab.spark.stream.state.key_times import KeyTimes
from trimtab.spark.stream.state.moving import left_behind
from trimtab.spark.stream.state.shape import Kind, Shape


class Lane:
    """What a lane's work can ask for, and what it leaves.

    Attributes
    ----------
    shape
        Names and types.
    stack
        The states of the lane's keys.
    keys
        By how many keys the lane has more after the batch than before.
    times
        How long a user's function took for which keys.
    """

    def __init__(self, shape: Shape, stack: Stack) -> None:
        self.shape = shape
        self.stack = stack
        self.keys = 0
        self.changed = 0
        self.times = KeyTimes()
        self._changes: list[pa.Table] = []

    def change(
        self,
        hashes: Longs,
        checks: Longs,
        kinds: NDArray[np.int8],
        timeouts: Longs,
        key_and_state: list[pa.Array | pa.ChunkedArray],
        before: NDArray[np.int8],
    ) -> None:
        """Note what keys have from now on; `before` are the kinds of the entries they had."""
        if not hashes.size:
            return
        schema = self.shape.entries
        fixed = [pa.array(hashes), pa.array(checks), pa.array(kinds), pa.array(timeouts)]
        rest = [
            column.cast(field.type)
            for column, field in zip(key_and_state, list(schema)[len(fixed) :], strict=True)
        ]
        self._changes.append(pa.table([*fixed, *rest], schema=schema))
        self.keys += int((kinds != GONE).sum()) - int((before != GONE).sum())
        self.changed += hashes.size

    def settle(self) -> None:
        """Let what was noted so far be found in the stack."""
        if self._changes:
            self.stack.add(pa.concat_tables(self._changes))
            self._changes = []


class Work(ABC):
    """What is done on every lane; it travels to the tasks."""

    result: T.StructType
    """Type of the rows that come out."""
    times_out_before: int
    """Timeouts before this time, in milliseconds, are due; `NO_TIMEOUT` if there are none."""

    @abstractmethod
    def on_rows(self, lane: Lane, rows: Iterator[SortedRows]) -> Iterator[pa.RecordBatch]:
        """Use all rows of the lane, sorted by key, and return what comes out."""

    def on_timeouts(self, lane: Lane, entries: pa.Table) -> Iterator[pa.RecordBatch]:
        """Return what comes out for keys whose timeouts are due."""
        raise NotImplementedError


@dataclass(frozen=True)
class LaneTask:
    """The function that Spark calls for every lane.

    Attributes
    ----------
    store, batch
        The checkpoint's store, which travels, and number of the batch.
    shape, work
        What rows and states look like, and what is done with them.
    stacks
        The files of each lane as the batch starts, as records, the newest first.
    new_plan
        The plan as text, if keys leave their lanes by it.
    """

    store: Store
    batch: int
    shape: Shape
    work: Work
    stacks: tuple[tuple[LaneFile, ...], ...]
    new_plan: str | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the lane's results, then one row with its record."""
        started, clock = time.perf_counter(), TaskClock()
        rows = _Rows(self, batches)
        if rows.lane is None:
            return
        lane, work = rows.lane, self.work
        kinds = arrow_schema(work.result).types
        for result in work.on_rows(lane, iter(rows)):
            yield _with_record(result, kinds)
        lane.settle()
        timed_out = 0
        if work.times_out_before != NO_TIMEOUT:
            entries = lane.stack.timed_out(work.times_out_before)
            timed_out = entries.num_rows
            if timed_out:
                for result in work.on_timeouts(lane, entries):
                    yield _with_record(result, kinds)
                lane.settle()
        # A second attempt of this task writes a file of its own.
        name = f"keyed/{self.batch:010d}-{rows.number}-{uuid.uuid4().hex[:12]}.arrow"
        files = lane.stack.written(name, rows.number)
        record = {
            "lane": rows.number,
            "files": [file.to_record() for file in files],
            "keys": lane.keys,
            "changed": lane.changed,
            "timed_out": timed_out,
            "function": lane.times.to_record(),
            "arrived": rows.arrived,
            "arrived_bytes": rows.arrived_bytes,
            "moving_seconds": rows.moving_seconds,
            "seconds": time.perf_counter() - started - rows.own_moving_seconds,
            "clock": clock.note(rows.count, rows.number),
        }
        nothing = [pa.nulls(1, kind) for kind in kinds]
        yield _named([*nothing, pa.array([json.dumps(record)])])


def _with_record(result: pa.RecordBatch, kinds: Sequence[pa.DataType]) -> pa.RecordBatch:
    # Moments come in the session's zone or in UTC, and all that a task gives must be of one type.
    columns = [
        column if column.type == kind else column.cast(kind)
        for column, kind in zip(result.columns, kinds, strict=True)
    ]
    return _named([*columns, pa.nulls(result.num_rows, pa.string())])


def _named(columns: list[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(columns, names=piece_names(len(columns) - 1))


def piece_names(count: int) -> list[str]:
    """Return the names of a piece's columns: so many of results, then the record."""
    return [*(f"c{i}" for i in range(count)), "record"]


class _Rows:
    """The rows of a lane; what came with them for its state is put into the stack."""

    def __init__(self, task: LaneTask, batches: Iterator[pa.RecordBatch]) -> None:
        self.shape = task.shape
        self.arrived = 0
        self.arrived_bytes = 0
        self.moving_seconds = 0.0
        self.own_moving_seconds = 0.0
        self.number = -1
        self.count = 0
        self.lane: Lane | None = None
        self._batches = batches
        self._first = next((batch for batch in batches if batch.num_rows), None)
        if self._first is None:
            return
        # The lane's mark comes before everything else.
        self.number = int(self._first.column(self.shape.lane)[0].as_py())
        files = task.stacks[self.number] if self.number < len(task.stacks) else ()
        stack = Stack(task.store, files, self.shape.entries)
        self.lane = Lane(self.shape, stack)
        if task.new_plan is not None and files:
            started = time.perf_counter()
            left = left_behind(stack, self.number, Plan.from_json(task.new_plan))
            stack.add(left)
            self.lane.keys -= left.num_rows
            self._spent_moving(time.perf_counter() - started)

    def _spent_moving(self, seconds: float) -> None:
        self.moving_seconds += seconds
        self.own_moving_seconds += seconds

    def __iter__(self) -> Iterator[SortedRows]:
        assert self._first is not None
        shape = self.shape
        names = [field.name for field in shape.rows.fields]
        yield from self._sorted(self._first, names)
        for batch in self._batches:
            yield from self._sorted(batch, names)

    def _sorted(self, batch: pa.RecordBatch, names: list[str]) -> Iterator[SortedRows]:
        shape = self.shape
        kinds = batch.column(shape.kind).to_numpy()
        if kinds.size and kinds.min() < Kind.ROW:
            self._take_in(batch.filter(pa.array(kinds < Kind.ROW)))
            batch = batch.filter(pa.array(kinds == Kind.ROW))
        self.count += batch.num_rows
        if batch.num_rows:
            hashes = batch.column(shape.hash).to_numpy()
            checks = batch.column(shape.check).to_numpy()
            yield SortedRows(batch.select(names), hashes, checks)

    def _take_in(self, batch: pa.RecordBatch) -> None:
        """Put into the stack what the mover has sent: keys that have come, with their states."""
        shape, lane = self.shape, self.lane
        assert lane is not None
        if shape.timeout not in batch.schema.names:
            return
        started = time.perf_counter()
        kinds = batch.column(shape.kind).to_numpy()
        # The mover's own time comes with marks.
        spent = batch.column(shape.timeout).filter(pa.array(kinds == Kind.MARK))
        self.moving_seconds += (pc.sum(spent).as_py() or 0) / 1e6
        moved = batch.filter(pa.array(kinds != Kind.MARK))
        if not moved.num_rows:
            return
        kinds = moved.column(shape.kind).to_numpy()
        ours = np.where(kinds == Kind.HELD_IN, HELD, AWAITED)
        fixed: list[Any] = [
            moved.column(shape.hash),
            moved.column(shape.check),
            pa.array(ours.astype(np.int8)),
            moved.column(shape.timeout),
        ]
        rest = [moved.column(name) for name in (*shape.keys, *shape.values)]
        schema = shape.entries
        columns = [
            column.cast(field.type) for column, field in zip([*fixed, *rest], schema, strict=True)
        ]
        entries = pa.table(columns, schema=schema)
        lane.stack.add(entries)
        lane.keys += entries.num_rows
        self.arrived += entries.num_rows
        self.arrived_bytes += entries.nbytes
        self._spent_moving(time.perf_counter() - started)
