from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from pyspark.sql import types as T

from tests.spark.stream.state.lanes import struct
from trimtab.spark.stream.state.conversions import table_of, values_of


def test_states_are_read_back_as_they_were_given() -> None:
    kind = struct(
        n=T.LongType(),
        day=T.DateType(),
        at=T.TimestampNTZType(),
        amount=T.DecimalType(10, 2),
        data=T.BinaryType(),
        items=T.ArrayType(T.StringType()),
        by_name=T.MapType(T.StringType(), T.DoubleType()),
        flag=T.BooleanType(),
    )
    at = datetime(2024, 1, 2, 3, 4, 5, 6)
    whole = (1, date(2024, 1, 2), at, Decimal("1.50"), b"ab", ["x", None], {"a": 0.5}, True)
    empty = (None,) * len(kind.fields)
    assert values_of(table_of([whole, None], kind), kind) == [whole, empty]
    assert table_of([], kind).num_rows == 0
