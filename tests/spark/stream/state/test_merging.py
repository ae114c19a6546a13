from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from tests.spark.stream.state.lanes import struct
from trimtab.errors import InvalidArgument
from trimtab.spark.stream.state.merging import merged, refuse_other_types
from trimtab.spark.stream.windows.aggregates import Aggregate

NAN = math.nan
EARLY, LATE = datetime(1960, 1, 1, tzinfo=UTC), datetime(2024, 3, 10, 6, tzinfo=UTC)
MOMENT = pa.timestamp("us", "UTC")
CASES = [
    ("sum", pa.int64(), [(1, 2, 3), (None, 2, 2), (1, None, 1), (None, None, None)]),
    ("sum", pa.float64(), [(0.5, 0.25, 0.75), (None, 1.0, 1.0)]),
    ("sum", pa.decimal128(38, 2), [(Decimal("1.10"), Decimal("2.20"), Decimal("3.30"))]),
    ("min", pa.string(), [("b", "a", "a"), (None, "x", "x")]),
    ("max", pa.float64(), [(1.0, NAN, NAN), (NAN, 1.0, NAN), (2.0, 1.0, 2.0), (None, NAN, NAN)]),
    ("min", pa.float64(), [(1.0, NAN, 1.0), (NAN, NAN, NAN)]),
    ("max", pa.bool_(), [(True, False, True), (None, False, False)]),
    ("max", MOMENT, [(EARLY, LATE, LATE), (None, EARLY, EARLY), (LATE, None, LATE)]),
    ("min", MOMENT, [(EARLY, LATE, EARLY), (None, None, None)]),
    ("bit_and", pa.int32(), [(6, 3, 2), (None, 3, 3)]),
    ("bit_or", pa.int16(), [(6, 3, 7)]),
    ("bit_xor", pa.int64(), [(6, 3, 5), (1, None, 1)]),
    ("every", pa.bool_(), [(True, False, False), (None, True, True)]),
    ("some", pa.bool_(), [(True, False, True), (None, False, False)]),
]


@pytest.mark.parametrize(("how", "kind", "rows"), CASES, ids=lambda given: str(given)[:20])
def test_two_partial_results_become_one(how: str, kind: pa.DataType, rows: list[Any]) -> None:
    old, new, wanted = (
        pa.chunked_array([pa.array(part, kind)]) for part in zip(*rows, strict=True)
    )
    found = merged(how, old, new)
    assert found.type == kind
    assert repr(found.to_pylist()) == repr(wanted.to_pylist())


def test_moments_of_the_sessions_zone_are_merged_with_those_of_files() -> None:
    old = pa.chunked_array([pa.array([EARLY, None], MOMENT)])
    new = pa.chunked_array([pa.array([LATE, LATE], pa.timestamp("us", "Asia/Tokyo"))])
    found = merged("max", old, new)
    assert found.type == MOMENT
    assert found.to_pylist() == [LATE, LATE]


def test_a_sum_that_does_not_fit_is_refused() -> None:
    most = pa.chunked_array([pa.array([2**63 - 1])])
    with pytest.raises(pa.ArrowInvalid, match="overflow"):
        merged("sum", most, most)
    assert merged("sum", most, most, round_sums=True).to_pylist() == [-2]


def test_types_that_arrow_would_merge_otherwise_are_refused() -> None:
    def of(kind: T.DataType) -> list[Aggregate]:
        return [Aggregate("most", kind, "max(x)", (), ())]

    refuse_other_types(of(T.StringType()) + of(T.DecimalType(38, 2)) + of(T.TimestampNTZType()))
    for kind in (T.StringType("UTF8_LCASE"), struct(n=T.LongType()), T.DayTimeIntervalType()):
        with pytest.raises(InvalidArgument, match=r"'most' is 'max\(x\)' of type"):
            refuse_other_types(of(kind))
