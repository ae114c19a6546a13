from __future__ import annotations

import base64
import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from trimtab.receive.ddl import arrow_schema
from trimtab.receive.records import Lines

SCHEMA = pa.schema({"k": pa.string(), "x": pa.int64()})
EVERY_TYPE = (
    "a boolean, b byte, c short, d int, e long, f float, g double, h decimal(10, 2), i string, "
    "j binary, k date, l timestamp, m timestamp_ntz"
)
NOON = dt.datetime(2026, 1, 31, 12, 0, 0, 250_000)
VALUES = [
    *(True, 1, 2, 3, 2**63 - 1, 0.5, 0.25, Decimal("12.50"), "é,\"'", b"\x00\xff\n"),
    *(dt.date(2026, 1, 31), NOON.replace(tzinfo=dt.UTC), NOON),
]


def test_json_holds_every_type_and_nulls() -> None:
    texts = ["12.50", "é,\"'", base64.b64encode(VALUES[9]).decode(), "2026-01-31"]
    fields = [*VALUES[:7], *texts, "2026-01-31T13:00:00.25+01:00", "2026-01-31 12:00:00.25"]
    record = dict(zip("abcdefghijklm", fields, strict=True))
    data = "".join(
        json.dumps(line) + "\n" for line in [record, dict.fromkeys(record), {}, {"z": [1]}]
    )
    table, rejected = Lines(arrow_schema(EVERY_TYPE), "json").parse(data.encode())
    assert not rejected
    assert table.schema == arrow_schema(EVERY_TYPE)
    assert [list(row.values()) for row in table.to_pylist()] == [VALUES, *[[None] * 13] * 3]


def test_csv_holds_every_type_and_nulls() -> None:
    data = (
        'true,1,2,3,9223372036854775807,0.5,0.25,12.50,"é,""\'",AP8K,2026-01-31,'
        "2026-01-31T13:00:00.25+01:00,2026-01-31 12:00:00.25\r\n" + 12 * "," + "\n"
    )
    table, rejected = Lines(arrow_schema(EVERY_TYPE), "csv").parse(data.encode())
    assert not rejected
    assert [list(row.values()) for row in table.to_pylist()] == [VALUES, [None] * 13]


JSON_MISTAKES = [
    (b"x", "does not begin with"),
    (b"null", "does not begin with"),
    (b"[1]", "does not begin with"),
    (b'{"k": "a"', "JSON parse error"),
    (b'{"k": "a"} {"k": "b"}', "not one record"),
    (b'{"k": "a"} null', "not one record"),
    (b'{"k": 1}', "changed from string to number"),
    (b'{"x": 1.5}', "couldn't parse:1.5"),
    (b'{"x": 9223372036854775808}', "couldn't parse"),
    (b'{"x": 1, "x": 2}', "twice"),
    (b'{"k": "\xff"}', "no UTF-8: invalid start byte at byte 7"),
    (b'{"k": "\\ud800"}', "surrogate"),
    (b'{"k": "a\x00"}', "JSON parse error"),
]
CSV_MISTAKES = [
    (b"a", "Expected 2 columns, got 1"),
    (b"a,1,2", "Expected 2 columns, got 3"),
    (b"a,x", "invalid value 'x'"),
    (b'"a,1', "a quote is not closed"),
    (b"a,1\rb,2", "carriage return"),
    (b"\xff,1", "no UTF-8"),
]


@pytest.mark.parametrize("format", ["json", "csv"])
def test_what_is_no_record_is_told_with_its_line_and_reason(format: str) -> None:
    """All mistakes among good lines, and each alone."""
    lines = Lines(SCHEMA, format)
    good = b'{"k": "a", "x": 1}' if format == "json" else b"a,1"
    mistakes = JSON_MISTAKES if format == "json" else CSV_MISTAKES
    data = b"\n".join(line for mistake, _ in mistakes for line in (good, b" ", mistake, b""))
    table, rejected = lines.parse(data)
    assert table.to_pylist() == len(mistakes) * [{"k": "a", "x": 1}]
    assert [found.line for found in rejected] == [2 + 4 * at for at in range(len(mistakes))]
    for found, (mistake, reason) in zip(rejected, mistakes, strict=True):
        assert found.text == mistake
        assert reason in found.reason
        table, (alone,) = lines.parse(mistake + b"\n")
        assert (table.num_rows, table.schema, alone.text) == (0, SCHEMA, mistake)


def test_no_lines_and_empty_lines_are_no_records() -> None:
    for data in (b"", b"\n", b" \n\r\n"):
        assert Lines(SCHEMA, "json").parse(data).table.num_rows == 0
    assert Lines(SCHEMA, "csv").parse(b"\na,1\n\n").table.num_rows == 1


def test_base64_of_a_column_is_that_of_the_standard_library() -> None:
    random = np.random.default_rng(1)
    values = [None, b"", *(random.bytes(int(size)) for size in random.integers(0, 9, 200))]
    texts = [None if value is None else base64.b64encode(value).decode() for value in values]
    lines = Lines(pa.schema({"b": pa.binary()}), "json")
    data = "".join(json.dumps({"b": text}) + "\n" for text in texts).encode()
    assert lines.parse(data).table.column("b").to_pylist() == values
    for wrong in ("AAA", "A===", "AA=A", "AA==AAAA", "====", "A A=", "AAA-"):
        table, rejected = lines.parse(json.dumps({"b": wrong}).encode())
        assert table.num_rows == 0, wrong
        assert "no base64" in rejected[0].reason
