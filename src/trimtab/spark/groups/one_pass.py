"""A function of each group, called for many groups in one pass over a partition.

Spark's own grouped map opens a stream of Arrow batches, converts it and checks the result for every
group, which takes a millisecond or two however small the group is. Here a partition that holds its
groups one after the other is read in batches of many groups, converted once, cut where the key
changes, and the results of many groups go back together. The function sees the same frames, and
what it does wrong is told in Spark's own words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.util import fail_on_stopiteration

from trimtab.spark.columns import collation, quoted, spare_names
from trimtab.spark.counting.lane_clock import LaneClock, TaskClock
from trimtab.spark.groups.user_functions import (
    PANDAS,
    is_nothing,
    named_after,
    refuse_result_as_spark_does,
    takes_iterator,
    takes_key,
)
from trimtab.spark.session_facts import assigns_by_name, prefers_int_extension
from trimtab.spark.shipping import shipped

RESULTS_AT_ONCE = 1024
"""Groups whose results are sent back together."""

ROWS_AT_ONCE = 10_000
"""Rows of results after which they are sent back, whatever the number of groups."""

_WITH_GAPS = (T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType)
"""Types that pandas holds in another way once a value is missing, and so group by group."""

_SAME_IN_BATCHES = (
    *_WITH_GAPS,
    *(T.FloatType, T.DoubleType, T.DecimalType, T.StringType, T.BinaryType),
    *(T.DateType, T.TimestampType, T.TimestampNTZType),
)
"""Types whose values look the same whether a group or a whole batch is converted."""

_ALIKE_WHEN_EQUAL = tuple(
    kind for kind in _SAME_IN_BATCHES if kind not in (T.FloatType, T.DoubleType)
)
"""Types of keys that are one key exactly if they compare as equal. A NaN is not equal to itself."""


def in_one_pass(
    session: SparkSession,
    schema: T.StructType,
    keys: Sequence[str],
    func: Callable[..., Any],
    method: str,
) -> bool:
    """Tell whether `apply_per_group` gives what Spark's own call gives; else that must be used."""
    names = schema.names
    return (
        method == PANDAS
        # Spark's map of batches does not heed that setting.
        and not prefers_int_extension(session)
        and not takes_iterator(func)
        and len({name.lower() for name in names}) == len(names)
        and all(type(field.dataType) in _SAME_IN_BATCHES for field in schema.fields)
        and all(type(schema[key].dataType) in _ALIKE_WHEN_EQUAL for key in keys)
        and not any(collation(schema[key].dataType) for key in keys)
    )


def apply_per_group(
    rows: DataFrame,
    keys: Sequence[str],
    hidden: Sequence[str],
    func: Callable[..., Any],
    schema: T.StructType | str,
    clock: LaneClock | None = None,
) -> DataFrame:
    """Apply a function of a group's rows, as a pandas frame, to every group of every partition.

    Parameters
    ----------
    rows
        The frame, each group whole in one partition; `in_one_pass` must hold for it.
    keys
        Names of the key columns.
    hidden
        Names of the columns that the function must not see, any of the keys among them.
    func
        A function of the rows, or of the key and the rows.
    schema
        Schema of what the function gives.
    clock
        Is told how long each partition took and where. One that gives no row tells nothing.
    """
    fields = rows.schema.fields
    gaps = [f.name for f in fields if isinstance(f.dataType, _WITH_GAPS) and f.nullable]
    times = [key for key in keys if isinstance(rows.schema[key].dataType, T.TimestampType)]
    spare = spare_names(
        rows.columns,
        *(f"null_{i}" for i in range(len(gaps))),
        *(f"instant_{i}" for i in range(len(times))),
    )
    flags = dict(zip(gaps, spare[: len(gaps)], strict=True))
    instants = dict(zip(times, spare[len(gaps) :], strict=True))
    columns = [
        _without_gaps(field) if field.name in flags else F.col(quoted(field.name))
        for field in fields
    ]
    marks = [F.expr(f"{quoted(name)} IS NULL AS {flag}") for name, flag in flags.items()]
    # The times of missing keys tell them from the instant that stands for them here.
    marks += [
        F.expr(f"coalesce(unix_micros({quoted(name)}), 0L) AS {instant}")
        for name, instant in instants.items()
    ]
    kind = schema if isinstance(schema, T.StructType) else T.StructType.fromDDL(schema)
    # Sorted before gaps are filled: the rows without a key must stand together.
    in_order = rows.sortWithinPartitions(*(quoted(key) for key in keys)).select(*columns, *marks)
    cut = _Cut(tuple(keys), tuple(hidden), flags, instants)
    mapped = _mapped(func, cut, kind, assigns_by_name(rows.sparkSession))
    if clock is None:
        return in_order.mapInPandas(shipped(mapped), schema)
    (note,) = spare_names(kind.names, "note")
    noted = T.StructType([*kind.fields, T.StructField(note, T.StringType())])
    return clock.on(
        in_order.mapInPandas(shipped(_with_note(mapped, kind.names, note)), noted), note
    )


def _without_gaps(field: T.StructField) -> Any:
    name = quoted(field.name)
    filler = "false" if isinstance(field.dataType, T.BooleanType) else "0"
    kind = field.dataType.simpleString()
    return F.expr(f"coalesce({name}, cast({filler} AS {kind})) AS {name}")


def _mapped(
    func: Callable[..., Any], cut: _Cut, schema: T.StructType, by_name: bool
) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    with_key = takes_key(func)
    called = fail_on_stopiteration(func)

    def run(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        results: list[pd.DataFrame] = []
        count = 0
        for key, group in cut.groups(batches):
            result = called(key(), group) if with_key else called(group)
            refuse_result_as_spark_does(result, schema, by_name)
            if is_nothing(result):
                continue
            if not by_name:
                # Spark's map of batches looks at the names even then.
                result = result.set_axis(schema.names, axis=1)
            results.append(result)
            count += len(result)
            if len(results) >= RESULTS_AT_ONCE or count >= ROWS_AT_ONCE:
                yield from _together(results)
                results, count = [], 0
        yield from _together(results)

    return named_after(run, func)


def _with_note(
    mapped: Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]],
    names: Sequence[str],
    note: str,
) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """Return a function that says, in the first row of its last frame, how long it took."""

    def run(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        clock = TaskClock()
        rows = 0

        def counted() -> Iterator[pd.DataFrame]:
            nonlocal rows
            for batch in batches:
                rows += len(batch)
                yield batch

        held: pd.DataFrame | None = None
        for result in mapped(counted()):
            if not len(result):
                # The note stands in a row, and there is none: pandas would make one of nulls.
                yield _noted(result, names, note, None)
                continue
            if held is not None:
                yield _noted(held, names, note, None)
            held = result
        if held is not None:
            yield _noted(held, names, note, json.dumps(clock.note(rows)))

    return named_after(run, mapped)


def _noted(
    result: pd.DataFrame, names: Sequence[str], column: str, note: str | None
) -> pd.DataFrame:
    # Texts of Arrow's go to Spark as they are; objects would be looked at one by one.
    texts = pa.nulls(len(result), pa.string())
    if note is not None:
        # In one piece: Spark takes no others.
        texts = pa.concat_arrays([pa.array([note], pa.string()), texts[1:]])
    # The frame may be the user's own: the column is not to be seen in it.
    shown = result.copy(deep=False)
    if not all(isinstance(name, str) for name in shown.columns):
        # Columns without names are taken in order, as Spark takes them.
        shown.columns = pd.Index(names)
    shown[column] = pd.arrays.ArrowExtensionArray(texts)
    return shown


@dataclass(frozen=True)
class _Cut:
    """Cuts batches of rows, ordered by key, into groups.

    Attributes
    ----------
    keys, hidden
        The key columns, and the columns to be left out of groups.
    flags
        For each column whose gaps were filled, the column that tells where they are.
    instants
        For each key that is a time, the column with the instant that it stands for. A group shows
        times as clocks of the session show them, and when clocks are set back, two hours are one.
    """

    keys: tuple[str, ...]
    hidden: tuple[str, ...]
    flags: dict[str, str]
    instants: dict[str, str]

    def groups(
        self, batches: Iterator[pd.DataFrame]
    ) -> Iterator[tuple[Callable[[], tuple[Any, ...]], pd.DataFrame]]:
        """Return each group, after something that gives its key when it is asked for."""
        pieces: list[pd.DataFrame] = []
        key: Callable[[], tuple[Any, ...]] = tuple
        before: list[Any] | None = None
        for batch in batches:
            gaps = {name: batch[flag].to_numpy() for name, flag in self.flags.items()}
            marks = self._marks(batch, gaps)
            starts = _starts(marks)
            goes_on = before is not None and before == [column[0] for column in marks]
            ours = [*self.hidden, *self.flags.values(), *self.instants.values()]
            shown = batch.drop(columns=ours)
            gaps = {name: gap for name, gap in gaps.items() if gap.any()}
            for at, end in zip(starts, [*starts[1:], len(batch)], strict=True):
                if pieces and not (at == 0 and goes_on):
                    yield key, _joined(pieces)
                    pieces = []
                if not pieces:
                    key = self._key(batch, gaps, at)
                pieces.append(group_piece(shown, gaps, at, end))
            before = [column[-1] for column in marks]
        if pieces:
            yield key, _joined(pieces)

    def _marks(self, batch: pd.DataFrame, gaps: dict[str, NDArray[np.bool_]]) -> list[NDArray[Any]]:
        """Return arrays that change where the key changes."""
        marks: list[NDArray[Any]] = [gaps[key] for key in self.keys if key in gaps]
        marks += [batch[instant].to_numpy() for instant in self.instants.values()]
        for key in self.keys:
            values = batch[key].to_numpy()
            # Two missing times are not equal, their bits are.
            marks.append(values.view(np.int64) if values.dtype.kind == "M" else values)
        return marks

    def _key(
        self, batch: pd.DataFrame, gaps: dict[str, NDArray[np.bool_]], at: int
    ) -> Callable[[], tuple[Any, ...]]:
        def key() -> tuple[Any, ...]:
            return tuple(
                with_gaps(batch[name].iloc[at : at + 1], gaps[name][at : at + 1]).iloc[0]
                if name in gaps and gaps[name][at]
                else batch[name].iloc[at]
                for name in self.keys
            )

        return key


def _starts(marks: list[NDArray[Any]]) -> list[int]:
    """Return the rows at which a group begins, the first among them."""
    changed = np.zeros(len(marks[0]), dtype=np.bool_)
    changed[:1] = True
    for mark in marks:
        changed[1:] |= (mark[1:] != mark[:-1]).astype(np.bool_)
    return np.flatnonzero(changed).tolist()


def group_piece(
    shown: pd.DataFrame, gaps: dict[str, NDArray[np.bool_]], at: int, end: int
) -> pd.DataFrame:
    """Return some rows of a batch as a frame of their own, with gaps where values are missing."""
    # A copy, which belongs to the function alone: it may change its rows.
    piece = shown.iloc[at:end].copy()
    piece.index = pd.RangeIndex(end - at)
    for name, gap in gaps.items():
        if name in piece.columns and gap[at:end].any():
            piece[name] = with_gaps(piece[name], gap[at:end])
    return piece


def with_gaps(values: pd.Series, gap: NDArray[np.bool_]) -> pd.Series:
    """Return values with gaps as Arrow gives them: numbers as floats, truths as objects."""
    if values.dtype == np.bool_:
        return values.astype(object).where(~gap, None)
    if isinstance(values.dtype, np.dtype):
        return values.astype(np.float64).where(~gap)
    return values.where(~gap)


def _joined(pieces: list[pd.DataFrame]) -> pd.DataFrame:
    return pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)


def _together(results: list[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Put results together where that leaves every value as it is; else give them as they came."""
    start = 0
    for end in range(1, len(results) + 1):
        if end == len(results) or not _alike(results[start], results[end]):
            yield from _as_one(results[start:end])
            start = end


def _alike(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    columns = one.columns
    return bool(
        columns.equals(other.columns)
        and columns.is_unique
        and all(one[name].dtype == other[name].dtype for name in columns)
    )


def _as_one(results: list[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    if len(results) == 1:
        yield results[0]
        return
    joined = pd.concat(results, ignore_index=True)
    objects = joined.select_dtypes(include="object").columns
    # Objects of several types in one column are converted otherwise than each type by itself.
    mixed = any(len(set(map(type, joined[name].dropna()))) > 1 for name in objects)
    yield from results if mixed else [joined]
