"""Two partial results of an aggregate become one: whole columns at once, as Spark would merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from trimtab.errors import InvalidArgument
from trimtab.spark.columns import collation
from trimtab.spark.stream.windows.aggregates import Aggregate

Values: TypeAlias = "pa.ChunkedArray"

_MERGED = (
    *(T.NumericType, T.StringType, T.BinaryType, T.BooleanType),
    *(T.DateType, T.TimestampType, T.TimestampNTZType),
)
"""Types of which Arrow compares and adds up as Spark does."""


def refuse_other_types(aggregates: Sequence[Aggregate]) -> None:
    """Refuse aggregates of types whose partial results Arrow would merge otherwise, or not at all.

    Texts of a collation would be compared by their bytes.
    """
    for one in aggregates:
        if not isinstance(one.kind, _MERGED) or collation(one.kind):
            raise InvalidArgument(
                f"aggregate {one.name!r} is {one.text!r} of type {one.kind.simpleString()}, which "
                "cannot be merged from batch to batch; allowed are numbers, texts without a "
                "collation, binaries, booleans, dates and timestamps"
            )


def goes_round(session: SparkSession) -> bool:
    """Tell whether sums of whole numbers that do not fit go round, as they do outside of ANSI."""
    return str(session.conf.get("spark.sql.ansi.enabled", "true")).lower() == "false"


def merged(how: str, old: Values, new: Values, *, round_sums: bool = False) -> Values:
    """Return, row by row, what two partial results make; one that is null does not count.

    Parameters
    ----------
    how
        The function that merges: sum, min, max, bit_and, bit_or, bit_xor, bool_and, bool_or or
        their other names in SQL.
    old, new
        Columns of one type, but for the time zone of moments: the result has that of `old`.
    round_sums
        Whether sums of whole numbers that do not fit go round; by default they are refused.
    """
    new = new.cast(old.type)
    merge = _TOGETHER[how]
    if round_sums and how == "sum" and pa.types.is_integer(old.type):
        merge = pc.add
    both = merge(old, new)
    return pc.if_else(old.is_null(), new, pc.if_else(new.is_null(), old, both))


def _sum(old: Values, new: Values) -> Values:
    kind = old.type
    if pa.types.is_decimal(kind):
        # Arrow wants a digit more for a sum than 128 bits have.
        wide = pa.decimal256(kind.precision, kind.scale)
        return pc.add_checked(old.cast(wide), new.cast(wide)).cast(kind)
    return pc.add_checked(old, new)


def _least(old: Values, new: Values) -> Values:
    return _ordered(pc.min_element_wise, old, new)


def _most(old: Values, new: Values) -> Values:
    most = _ordered(pc.max_element_wise, old, new)
    if not pa.types.is_floating(old.type):
        return most
    # For Spark, as for sorting, NaN is above all numbers.
    nan = pa.scalar(np.nan, old.type)
    return pc.if_else(pc.or_kleene(pc.is_nan(old), pc.is_nan(new)), nan, most)


def _ordered(pick: Callable[..., Values], old: Values, new: Values) -> Values:
    # Arrow compares neither truths nor moments of a time zone; numbers of the same order it does.
    kind = old.type
    if pa.types.is_boolean(kind):
        return pick(old.cast(pa.int8()), new.cast(pa.int8())).cast(kind)
    if pa.types.is_timestamp(kind):
        return pick(old.cast(pa.int64()), new.cast(pa.int64())).cast(kind)
    return pick(old, new)


_TOGETHER: dict[str, Callable[[Values, Values], Values]] = {
    "sum": _sum,
    "min": _least,
    "max": _most,
    "bit_and": pc.bit_wise_and,
    "bit_or": pc.bit_wise_or,
    "bit_xor": pc.bit_wise_xor,
    **dict.fromkeys(("bool_and", "every"), pc.and_),
    **dict.fromkeys(("bool_or", "any", "some"), pc.or_),
}
