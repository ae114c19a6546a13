"""What a windowed aggregate may be: functions whose partial results merge, and how each is undone.

A user's aggregate is looked at only from outside, by the name that Spark gives its result, so that
Spark Classic and Spark Connect behave alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.errors import InvalidArgument
from trimtab.spark.columns import quoted, takes_every_column
from trimtab.spark.spark_text import (
    Call,
    aggregate_call,
    column_text,
    complaint,
    ignores_nulls,
    speaks_of,
)
from trimtab.spark.stream.windows.exact_sums import (
    PARTS,
    exact_partials,
    exact_parts,
    exact_total,
)
from trimtab.spark.stream.windows.panes import ROWS, Part
from trimtab.spark.stream.windows.recipes import HLL_ERROR, KNOWN, recipe_of

_MERGES = {
    "count": "sum",
    "count_if": "sum",
    "sum": "sum",
    **{
        name: name
        for name in (
            *("min", "max", "bit_and", "bit_or", "bit_xor"),
            *("bool_and", "every", "bool_or", "any", "some"),
        )
    },
}
"""How results of panes become the result of a window, by function."""

ALLOWED = ("avg", *_MERGES)

MOST_DIGITS = 38
"""Digits of a decimal, at most; a sum of fewer has room for 10^10 rows."""


@dataclass(frozen=True)
class Aggregate:
    """One output column: the partial results it is made of, and how.

    Attributes
    ----------
    name, kind, text
        Name and type of the output column, and the call that it is, as Spark writes it.
    partials
        Expressions over the rows of a pane, one for each of `parts`.
    parts
        The partial results that are kept; none if the number of rows is all that is needed.
    final
        What comes of them, as SQL text; by default the one part itself, or a sum over a count.
    """

    name: str
    kind: T.DataType
    text: str
    partials: tuple[Column, ...]
    parts: tuple[Part, ...]
    final: str | None = None

    @cached_property
    def result(self) -> Column:
        """The output column, from merged partial results."""
        # By its text, in which lists may hold nulls: those that were read from files may.
        kind = self.kind.simpleString()
        if self.final is not None:
            return F.expr(self.final).cast(kind).alias(self.name)
        if len(self.parts) == 1:
            return F.col(self.parts[0].name).cast(kind).alias(self.name)
        total, count = (F.col(part.name) for part in self.parts)
        mean = F.when(count > 0, total / count.cast("double"))
        return mean.cast(self.kind).alias(self.name)


def read_aggregates(
    df: DataFrame, given: Mapping[str, object], time: str | None = None, taken_back: bool = False
) -> list[Aggregate]:
    """Check the aggregates of a query; every mistake is one sentence, before anything runs.

    With the name of a `time` column, those of `windows.recipes` are allowed too. If `taken_back`,
    sums of doubles are kept in a form in which they can be.
    """
    if not given:
        raise InvalidArgument(
            "there must be at least one aggregate by name, such as clicks=F.count('*'); got none"
        )
    made: list[Aggregate] = []
    for name, column in given.items():
        taken = sum(len(one.parts) for one in made)
        made.append(_read(df, name, column, taken, time, taken_back))
    return made


def columns_read(df: DataFrame, given: Mapping[str, object], always: Sequence[str]) -> list[str]:
    """Return the columns that a query needs: those in `always` and those its aggregates speak of.

    All of them where that cannot be told for certain. A batch of a stream comes with every column
    that its source was asked for, used or not.
    """
    columns = {name: _column(name, aggregate) for name, aggregate in given.items()}
    results = [_result(df, name, column) for name, column in columns.items()]
    texts = [*map(column_text, columns.values()), *(result.name for result in results)]
    needed = [
        name
        for name in df.columns
        if name in always or any(speaks_of(text, name) for text in texts)
    ]
    narrow = df.select(*(quoted(name) for name in needed))
    try:
        again = [_result(narrow, name, column) for name, column in columns.items()]
    except InvalidArgument:
        return list(df.columns)
    return needed if again == results else list(df.columns)


def _read(
    df: DataFrame, name: str, given: object, taken: int, time: str | None, taken_back: bool
) -> Aggregate:
    column = _column(name, given)
    field = _result(df, name, column)
    call = _one_call(name, column_text(column), field.name)
    if time is not None:
        made = _by_recipe(df, name, field, call, column_text(column), taken, time)
        if made is not None:
            return made
    if takes_every_column(df, column):
        raise InvalidArgument(
            f"aggregate {name!r} is {column_text(column)!r}, which is of all columns, those in "
            f"which Trimtab keeps its notes among them; name the columns, as in {field.name!r}"
        )
    function, argument = _allowed(name, field.name, call, KNOWN if time is not None else ())
    if time is not None and call == ("count", "1") and "1" not in df.columns:
        # Every pane counts its rows anyway.
        return Aggregate(name, field.dataType, field.name, (), (), ROWS.name)
    if function == "avg":
        return _average(df, name, field, argument, taken, taken_back)
    if taken_back and function == "sum" and isinstance(field.dataType, T.DoubleType):
        there = column.isNotNull().cast("long")
        return _exact(name, field, column, there, taken, "if({1} > 0, {0}, NULL)")
    if time is not None and function == "sum" and _overflows_to_null(df, field.dataType):
        return _sum_or_overflow(df, name, field, argument, taken)
    # Intervals add up like numbers, but where one leaves a window no 0 is of their type.
    exact = _MERGES[function] == "sum" and isinstance(field.dataType, T.LongType | T.DecimalType)
    part = Part(f"p{taken}", _MERGES[function], exact, may_be_null=field.nullable)
    return Aggregate(name, field.dataType, field.name, (column,), (part,))


def _by_recipe(
    df: DataFrame,
    name: str,
    field: T.StructField,
    call: Call,
    written: str,
    taken: int,
    time: str,
) -> Aggregate | None:
    """Return an aggregate that is made of other aggregates; None if there is no recipe for it."""
    if call.function == "approx_count_distinct":
        _check_error(name, written)
    by_nulls = ignores_nulls(written)
    found = recipe_of(call.function, call.argument, _plain_columns(df), time, by_nulls)
    if found is None:
        return None
    names = [f"p{taken + i}" for i in range(len(found.partials))]
    parts = tuple(
        Part(part, merge.format(*names), has_inverse=False, may_be_null=True)
        for part, merge in zip(names, found.merges, strict=True)
    )
    partials = tuple(F.expr(text) for text in found.partials)
    text = f"{field.name} IGNORE NULLS" if by_nulls else field.name
    made = Aggregate(name, field.dataType, text, partials, parts, found.result.format(*names))
    columns = [partial.alias(part) for partial, part in zip(partials, names, strict=True)]
    try:
        panes = df.groupBy().agg(*columns)
        merged = panes.groupBy().agg(*(F.expr(part.merged) for part in parts))
        _ = merged.select(made.result).schema
    except AnalysisException as error:
        raise InvalidArgument(
            f"aggregate {name!r} is {field.name!r}, whose panes cannot be merged in this version "
            f"of Spark or for this type: {complaint(error)}"
        ) from error
    return made


def _plain_columns(df: DataFrame) -> list[str]:
    """Return the columns that their names in a call can mean alone, and not a field of another."""
    whole = {name.lower() for name in df.columns}
    return [
        name
        for name in df.columns
        if "." not in name or name.partition(".")[0].lower() not in whole
    ]


def _check_error(name: str, written: str) -> None:
    """Refuse a smaller error than that of the sketch; the result's name does not show it."""
    asked = re.search(r", *([\d.]+(?:E-?\d+)?)[BD]*\)$", written, re.IGNORECASE)
    if asked is not None and float(asked[1]) < HLL_ERROR:
        raise InvalidArgument(
            f"aggregate {name!r} is {written!r}; of windows its relative error is "
            f"{HLL_ERROR:.3%}, and no smaller one is offered: leave the number out, or use "
            "count(DISTINCT ...)"
        )


def _column(name: str, given: object) -> Column:
    column = F.expr(given) if isinstance(given, str) else given
    if not isinstance(column, Column):
        raise InvalidArgument(
            f"aggregate {name!r} must be a Column such as F.sum('price') or its SQL text; got "
            f"{given!r}"
        )
    return column


def _result(df: DataFrame, name: str, column: Column) -> T.StructField:
    """Return name and type that Spark gives to an aggregate of all rows."""
    try:
        return df.groupBy().agg(column).schema.fields[0]
    except AnalysisException as error:
        raise InvalidArgument(
            f"aggregate {name!r} cannot be computed: {complaint(error)}"
        ) from error


def _one_call(name: str, written: str, shown: str) -> Call:
    """Return function and argument, if the column is one call."""
    call = aggregate_call(written, shown)
    if call is None:
        raise InvalidArgument(
            f"aggregate {name!r} must be one call of {', '.join(ALLOWED)}, without an alias and "
            f"without arithmetic around it; got {written!r}; compute the rest from its results"
        )
    return call


def _allowed(name: str, shown: str, call: Call, more: Sequence[str]) -> Call:
    """Return the call, if its function is allowed."""
    if call.function in ALLOWED and not call.distinct:
        return call
    beside = f"; of plain columns also {', '.join(more)}" if more else ""
    raise InvalidArgument(
        f"aggregate {name!r} is {shown!r}, whose panes cannot be merged; allowed are "
        f"{', '.join(ALLOWED)}, none of them DISTINCT{beside}"
    )


def _average(
    df: DataFrame, name: str, field: T.StructField, argument: str, taken: int, taken_back: bool
) -> Aggregate:
    if argument not in _plain_columns(df):
        raise InvalidArgument(
            f"aggregate {name!r} is the avg of {argument!r}, which is not a column by itself; make "
            "it one with withColumn first"
        )
    if not isinstance(field.dataType, T.DoubleType):
        raise InvalidArgument(
            f"aggregate {name!r} is an avg of type {field.dataType.simpleString()}, whose rounding "
            "cannot be split into panes; use sum and count, and divide afterwards"
        )
    value = F.col(quoted(argument))
    if taken_back:
        total = F.sum(value.cast("double"))
        mean = "if({1} > 0, ({0}) / cast({1} AS double), NULL)"
        return _exact(name, field, total, F.count(value), taken, mean)
    return Aggregate(
        name,
        field.dataType,
        field.name,
        (F.sum(value.cast("double")), F.count(value)),
        (
            Part(f"p{taken}", "sum", has_inverse=False, may_be_null=True),
            Part(f"p{taken + 1}", "sum", has_inverse=True, may_be_null=False),
        ),
    )


def _overflows_to_null(df: DataFrame, total: T.DataType) -> bool:
    """Tell whether a sum that is too large for its type is null, and not an error."""
    if not isinstance(total, T.DecimalType) or total.precision < MOST_DIGITS:
        return False
    return str(df.sparkSession.conf.get("spark.sql.ansi.enabled", "true")).lower() == "false"


def _sum_or_overflow(
    df: DataFrame, name: str, field: T.StructField, argument: str, taken: int
) -> Aggregate:
    """Return a sum of which a pane without values and one that was too large can be told apart."""
    if argument not in _plain_columns(df):
        raise InvalidArgument(
            f"aggregate {name!r} is the sum of {argument!r} as {field.dataType.simpleString()}, "
            "which can overflow to null while ANSI mode is off; make it a column by itself with "
            "withColumn first, or cast it to fewer digits"
        )
    value = F.col(quoted(argument))
    total, there = f"p{taken}", f"p{taken + 1}"
    merged = f"if(bool_or({total} IS NULL AND {there} > 0), NULL, sum({total}))"
    return Aggregate(
        name,
        field.dataType,
        field.name,
        (F.sum(value), F.count(value)),
        (
            Part(total, merged, has_inverse=False, may_be_null=True),
            Part(there, "sum", has_inverse=True, may_be_null=False),
        ),
        total,
    )


def _exact(
    name: str, field: T.StructField, total: Column, values: Column, taken: int, result: str
) -> Aggregate:
    """Return an aggregate of a sum of doubles that can be taken back, and of a count beside it."""
    names = [f"p{taken + i}" for i in range(PARTS + 1)]
    counted = Part(names[-1], "sum", has_inverse=True, may_be_null=False)
    return Aggregate(
        name,
        field.dataType,
        field.name,
        (*exact_partials(total), values),
        (*exact_parts(names[:-1]), counted),
        result.format(exact_total(names[:-1]), names[-1]),
    )
