"""A user's function of a key, its rows and its state, called as Spark's stateful functions are.

The state that a function sees is Spark's own class, so that what it allows, and how it refuses
what it does not, is Spark's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.errors import PySparkRuntimeError, PySparkTypeError
from pyspark.sql import types as T
from pyspark.sql.streaming.state import GroupState

from trimtab.errors import FunctionFailed
from trimtab.journal.keyed.entries import GONE, NO_TIMEOUT, Longs
from trimtab.journal.keyed.stack import AWAITED, HELD, Found
from trimtab.spark.groups.one_pass import ROWS_AT_ONCE, group_piece, with_gaps
from trimtab.spark.stream.state.conversions import Conversions, table_of, values_of
from trimtab.spark.stream.state.grouped_rows import GroupedRows, SortedRows
from trimtab.spark.stream.state.lane import Lane, Work


@dataclass(frozen=True)
class Moment:
    """What time it is for a batch, in milliseconds; a batch that runs again has the same.

    Attributes
    ----------
    processing
        When Spark planned the batch.
    watermark
        The event-time watermark; None if the stream has none.
    """

    processing: int
    watermark: int | None

    def due_before(self, timeout: str) -> int:
        """Return the time before which timeouts of a kind are due, `NO_TIMEOUT` if none are."""
        if timeout == "ProcessingTimeTimeout":
            return self.processing
        if timeout == "EventTimeTimeout" and self.watermark is not None:
            return self.watermark
        return NO_TIMEOUT


class StateFunction(Work):
    """Calls `function(key, pieces of its rows, state)` for every key of a lane.

    Parameters
    ----------
    function, result
        The user's function, and the type of what it gives.
    timeout
        Spark's name of the kind of timeouts.
    moment
        What time it is.
    conversions
        How values are shown to it and taken from it.
    names_keys
        Whether a failure may name the key.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        result: T.StructType,
        timeout: str,
        moment: Moment,
        conversions: Conversions,
        names_keys: bool,
    ) -> None:
        self.function = function
        self.result = result
        self.timeout = timeout
        self.moment = moment
        self.conversions = conversions
        self.names_keys = names_keys
        self.times_out_before = moment.due_before(timeout)

    def on_rows(self, lane: Lane, rows: Iterator[SortedRows]) -> Iterator[pa.RecordBatch]:
        """Call the function for every key that has rows."""
        prepared = self._prepared(lane, rows)
        grouped: GroupedRows[_Batch, pd.DataFrame] = GroupedRows(prepared, _Batch.piece)
        results = _Results(self)
        before: _Batch | None = None
        for batch, group, pieces in grouped.groups():
            if before is not None and before is not batch:
                before.leave(lane)
            before = batch
            state = self._state(batch, group, timed_out=False)
            yield from results.of(self._called(batch, group, pieces, state), batch, group)
            batch.changes.note(group, state)
        if before is not None:
            before.leave(lane)
        yield from results.rest()

    def _prepared(self, lane: Lane, rows: Iterator[SortedRows]) -> Iterator[_Batch]:
        """Make batches ready; rows of a key that goes on count where the key begins."""
        begun: _Batch | None = None
        for found in rows:
            batch = _Batch.of(self, lane, found)
            goes_on = begun is not None and _last_key(begun.sorted_rows) == found.key(0)
            if begun is not None and goes_on:
                begun.row_counts[-1] += batch.row_counts[0]
                batch.row_counts[0] = 0
            if not goes_on or len(found) > 1:
                begun = batch
            yield batch

    def on_timeouts(self, lane: Lane, entries: pa.Table) -> Iterator[pa.RecordBatch]:
        """Call the function for keys without rows whose timeouts are due."""
        batch = _Batch.of_entries(self, lane, entries)
        results = _Results(self)
        names = [one.name for one in lane.shape.shown]
        for group in range(entries.num_rows):
            state = self._state(batch, group, timed_out=True)
            pieces = iter([pd.DataFrame(columns=names)])
            yield from results.of(self._called(batch, group, pieces, state), batch, group)
            batch.changes.note(group, state)
        batch.leave(lane)
        yield from results.rest()

    def _state(self, batch: _Batch, group: int, *, timed_out: bool) -> GroupState:
        held = batch.kinds[group] == HELD
        watermark = self.moment.watermark
        return GroupState(
            optionalValue=batch.values[group] if held else None,
            batchProcessingTimeMs=self.moment.processing,
            eventTimeWatermarkMs=NO_TIMEOUT if watermark is None else watermark,
            timeoutConf=self.timeout,
            hasTimedOut=timed_out,
            watermarkPresent=watermark is not None,
            defined=bool(held),
            updated=False,
            removed=False,
            timeoutTimestamp=NO_TIMEOUT,
            keyAsUnsafe=b"",
            valueSchema=batch.state_type,
        )

    def _called(
        self, batch: _Batch, group: int, pieces: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        """Return what the function gives; whatever it raises is told with its key."""
        key = batch.key(group)
        started = time.perf_counter()
        try:
            given = self.function(key, pieces, state)
            for frame in _as_iterable(given):
                checked = _checked(frame, self.result)
                batch.seconds[group] += time.perf_counter() - started
                yield checked
                started = time.perf_counter()
            batch.seconds[group] += time.perf_counter() - started
            value = state._value if state._defined else None
            if value is not None and len(value) != len(batch.state_type):
                raise ValueError(
                    f"the state has {len(value)} values and its type {len(batch.state_type)} fields"
                )
        except Exception as error:
            raise batch.failed(group, error) from error


class _Results:
    """Gathers the frames that a function gives, and converts many of them together."""

    def __init__(self, work: StateFunction) -> None:
        self._work = work
        self._frames: list[pd.DataFrame] = []
        self._given_by: list[tuple[_Batch, int]] = []
        self._count = 0

    def of(
        self, frames: Iterable[pd.DataFrame], batch: _Batch, group: int
    ) -> Iterator[pa.RecordBatch]:
        for frame in frames:
            if len(frame):
                self._frames.append(frame)
                self._given_by.append((batch, group))
                self._count += len(frame)
                if self._count > ROWS_AT_ONCE:
                    yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        if self._frames:
            yield self._converted(self._frames)
            self._frames, self._given_by, self._count = [], [], 0

    def _converted(self, frames: list[pd.DataFrame]) -> pa.RecordBatch:
        try:
            return self._work.conversions.results(frames, self._work.result)
        except Exception:
            # One of many: who gave it is found by trying each by itself.
            for frame, (batch, group) in zip(frames, self._given_by, strict=True):
                try:
                    self._work.conversions.results([frame], self._work.result)
                except Exception as error:
                    what = f"what it gave does not fit {self._work.result.simpleString()}"
                    raise batch.failed(group, error, what) from error
            raise


@dataclass(eq=False)
class _Changes:
    """What the function has made of the states of a batch's keys."""

    groups: list[int] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    timeouts: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def note(self, group: int, state: GroupState) -> None:
        """Note a state after the call, by Spark's rules of what has to be written."""
        timeout = int(state._timeout_timestamp)
        if not (state._updated or state._removed or timeout != NO_TIMEOUT):
            return
        kind = HELD if state._defined else AWAITED if timeout != NO_TIMEOUT else GONE
        self.groups.append(group)
        self.kinds.append(kind)
        self.timeouts.append(timeout)
        self.values.append(tuple(state._value) if kind == HELD else None)


class _Batch:
    """Keys with their states, and the rows of those that have any, ready for the function."""

    def __init__(
        self,
        work: StateFunction,
        lane: Lane,
        keys: list[pa.Array | pa.ChunkedArray],
        found: Found,
        hashes: Longs,
        checks: Longs,
    ) -> None:
        shape = lane.shape
        self.state_type = shape.state
        self.names_keys = work.names_keys
        self.keys = keys
        self.kinds = found.kinds
        self.hashes, self.checks = hashes, checks
        self.row_counts = np.zeros(hashes.size, dtype=np.int64)
        self.changes = _Changes()
        self.seconds = np.zeros(hashes.size)
        names = [one.name for one in shape.state_fields]
        plain = found.table.select(names).rename_columns(shape.state.names)
        self.values = values_of(plain, shape.state) if (found.kinds == HELD).any() else []
        self._key_columns = [
            _Column.of(work.conversions, column, one)
            for column, one in zip(keys, shape.key_type.fields, strict=True)
        ]

    @classmethod
    def of(cls, work: StateFunction, lane: Lane, batch: SortedRows) -> _Batch:
        starts = batch.starts
        hashes, checks = batch.hashes[starts], batch.checks[starts]
        heads = pa.array(starts)
        keys = [batch.rows.column(name).take(heads) for name in lane.shape.keys]
        made = cls(work, lane, keys, lane.stack.look_up(hashes, checks), hashes, checks)
        made.sorted_rows = batch
        made.row_counts = batch.counts
        columns = [
            (one.name, _Column.of(work.conversions, batch.rows.column(one.name), one))
            for one in lane.shape.shown
        ]
        made._frame = pd.DataFrame({name: column.values for name, column in columns}, copy=False)
        made._gaps = {name: column.gap for name, column in columns if column.gap is not None}
        return made

    @classmethod
    def of_entries(cls, work: StateFunction, lane: Lane, entries: pa.Table) -> _Batch:
        keys = [entries.column(one.name) for one in lane.shape.key_fields]
        kinds, timeouts = (entries.column(name).to_numpy() for name in ("kind", "timeout"))
        hashes, checks = (entries.column(name).to_numpy() for name in ("hash", "check"))
        return cls(work, lane, keys, Found(entries, kinds, timeouts), hashes, checks)

    def key(self, group: int) -> tuple[Any, ...]:
        return tuple(column.at(group) for column in self._key_columns)

    def piece(self, group: int) -> pd.DataFrame:
        return group_piece(self._frame, self._gaps, *self.sorted_rows.bounds(group))

    def leave(self, lane: Lane) -> None:
        """Tell the lane what has changed, and how long it took."""
        changes = self.changes
        lane.times.add(self.hashes, self.row_counts, self.seconds)
        groups = np.array(changes.groups, dtype=np.int64)
        states = self._states()
        lane.change(
            self.hashes[groups],
            self.checks[groups],
            np.array(changes.kinds, dtype=np.int8),
            np.array(changes.timeouts, dtype=np.int64),
            [*(column.take(pa.array(groups)) for column in self.keys), *states.columns],
            self.kinds[groups],
        )

    def failed(self, group: int, error: Exception, what: str = "") -> FunctionFailed:
        """Return what is raised where a key's call went wrong."""
        key = repr(self.key(group)) if self.names_keys else f"of hash {self.hashes[group]}"
        told = "; ".join([*([what] if what else []), f"{type(error).__name__}: {error}"])
        return FunctionFailed(
            f"the function of apply_with_state failed for key {key}: {told}; nothing of the batch "
            "is kept: correct the function or the rows, and start again"
        )

    def _states(self) -> pa.Table:
        """Return the states that the function has set, as columns of their types."""
        changes = self.changes
        try:
            return table_of(changes.values, self.state_type)
        except Exception:
            for group, value in zip(changes.groups, changes.values, strict=True):
                try:
                    table_of([value], self.state_type)
                except Exception as error:
                    kind = self.state_type.simpleString()
                    what = f"its state {value!r} does not fit {kind}"
                    raise self.failed(group, error, what) from error
            raise

    sorted_rows: SortedRows
    _frame: pd.DataFrame
    _gaps: dict[str, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class _Column:
    """A column as pandas shows it where no value is missing, and where values are missing.

    pandas holds whole numbers and truths in another way once a value is missing. Which way a group
    sees must follow from the group, not from the batch it came in.
    """

    values: pd.Series
    gap: NDArray[np.bool_] | None

    @classmethod
    def of(
        cls, conversions: Conversions, column: pa.Array | pa.ChunkedArray, kind: T.StructField
    ) -> _Column:
        holds_gaps = not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type))
        if column.null_count == 0 or holds_gaps:
            return cls(conversions.series(column, kind), None)
        gap = (
            column.is_null().to_numpy(zero_copy_only=False)
            if isinstance(column, pa.Array)
            else column.is_null().to_numpy()
        )
        filled = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
        return cls(conversions.series(filled, kind), gap)

    def at(self, row: int) -> Any:
        if self.gap is not None and self.gap[row]:
            return with_gaps(self.values.iloc[row : row + 1], self.gap[row : row + 1]).iloc[0]
        return self.values.iloc[row]


def _last_key(rows: SortedRows) -> tuple[int, int]:
    return rows.key(len(rows) - 1)


def _as_iterable(given: Any) -> Iterable[Any]:
    """Refuse what is no iterable of frames, in Spark's words."""
    expected = "iterable of pandas.DataFrame" if isinstance(given, pd.DataFrame) else "iterable"
    if isinstance(given, pd.DataFrame) or not hasattr(given, "__iter__"):
        raise PySparkTypeError(
            errorClass="UDF_RETURN_TYPE",
            messageParameters={"expected": expected, "actual": type(given).__name__},
        )
    return given  # type: ignore[no-any-return]


def _checked(frame: Any, kind: T.StructType) -> pd.DataFrame:
    """Refuse what is no frame, or one of other columns, in Spark's words."""
    if not isinstance(frame, pd.DataFrame):
        raise PySparkTypeError(
            errorClass="UDF_RETURN_TYPE",
            messageParameters={
                "expected": "iterator of pandas.DataFrame",
                "actual": f"iterator of {type(frame).__name__}",
            },
        )
    if len(frame.columns) != len(kind) and not (frame.empty and len(frame.columns) == 0):
        raise PySparkRuntimeError(
            errorClass="RESULT_COLUMN_SCHEMA_MISMATCH",
            messageParameters={"expected": str(len(kind)), "actual": str(len(frame.columns))},
        )
    return frame
