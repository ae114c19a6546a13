from __future__ import annotations

import pyarrow as pa
import pytest

from trimtab.errors import InvalidArgument
from trimtab.receive.ddl import arrow_schema


def test_every_type_that_a_record_can_hold() -> None:
    text = (
        "a BOOLEAN, b tinyint, c byte, d smallint, e short, f int, g integer, h bigint, i long, "
        "j float, k real, l double, m decimal, n dec(5), o numeric( 38 , 38 ), p string, q binary, "
        "r date, s timestamp, t timestamp_ltz, u timestamp_ntz COMMENT 'no, zone', v: int"
    )
    kinds = [
        *(pa.bool_(), pa.int8(), pa.int8(), pa.int16(), pa.int16(), pa.int32(), pa.int32()),
        *(pa.int64(), pa.int64(), pa.float32(), pa.float32(), pa.float64()),
        *(pa.decimal128(10, 0), pa.decimal128(5, 0), pa.decimal128(38, 38)),
        *(pa.string(), pa.binary(), pa.date32()),
        *(pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.int32()),
    ]
    assert arrow_schema(text).types == kinds
    assert arrow_schema(text).names == list("abcdefghijklmnopqrstuv")


def test_names_in_back_quotes_are_taken_as_they_are() -> None:
    assert arrow_schema("`a b, c` int, `x``y` long, `1` int").names == ["a b, c", "x`y", "1"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the end of the text"),
        ("k", "a type was expected"),
        ("k string,", "the name of a column was expected"),
        ("k string x long", "a comma was expected after 'k'"),
        ("1k string", "the name of a column was expected, '1'"),
        ("k array<string>", "'<string>' is neither"),
        ("k struct", "no type 'struct'"),
        ("k string NOT NULL", "NOT NULL"),
        ("k decimal(39, 2)", "the precision is 1 to 38"),
        ("k decimal(2, 3)", "the scale at most"),
        ("k decimal(2", "closing bracket"),
        ("k string, K long", "'k' is there twice"),
        (None, "a schema is a text"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        arrow_schema(text)
