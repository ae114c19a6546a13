"""Keys that go wrong: every type that Spark can hash, with the values that trip programs up."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

TEXTS = [
    "hot",
    "",
    " ",
    "null",
    "NaN",
    "it's",
    'say "hello"',
    "`backticks`",
    "a.b.c",
    "two\nlines",
    "tab\tand\rreturn",
    "$a_$",
    "${a}",
    "\\1 %s {0}",
    "🙈🙉🙊",
    "שלום עולם",
    "مرحبا\u202eba",
    "e\u0301",
    "é",
    "\u0000zero",
    "\uffff",
    "x=1/y=2",
    "../..",
    "__HIVE_DEFAULT_PARTITION__",
    None,
]

LONG_TEXT = "m" * (1 << 20)
"""A key of a megabyte; it comes in few rows, or they would be gigabytes."""

_BERLIN_AUTUMN = dt.datetime(2024, 10, 27, 0, 30)
"""Half past two in Berlin, for the first time; an hour later for the second time."""

TIMES = [
    _BERLIN_AUTUMN,
    _BERLIN_AUTUMN + dt.timedelta(hours=1),
    dt.datetime(2024, 3, 31, 1, 0),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1970, 1, 1),
    dt.datetime(1901, 12, 13, 20, 45, 51),
    dt.datetime(1582, 10, 15),
    dt.datetime(1, 1, 2),
    dt.datetime(9999, 12, 30, 23, 59, 59, 999999),
    dt.datetime(2038, 1, 19, 3, 14, 8),
    None,
]
"""In UTC: before 1970, in 9999, at clock changes, and none."""


def _whole(bits: int) -> list[Any]:
    return [7, 0, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), None]


_FRACTIONS = [1.5, 0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1e30, -1.5, None]

KEYS: dict[str, list[Any]] = {
    "string": TEXTS,
    "boolean": [True, False, None],
    "tinyint": _whole(8),
    "smallint": _whole(16),
    "int": _whole(32),
    "bigint": _whole(64),
    "float": [x if x != 5e-324 else 1e-45 for x in _FRACTIONS],
    "double": _FRACTIONS,
    "decimal(10,2)": [decimal.Decimal(x) for x in ("1.50", "0.00", "-99999999.99")] + [None],
    "decimal(38,5)": [decimal.Decimal(x) for x in ("1.5", "0", f"-{'9' * 33}.99999")] + [None],
    "binary": [b"hot", b"", b"\0", b"\xff\xfe", "🙈".encode(), b"'\"`", None],
    "date": [dt.date(2024, 2, 29), dt.date(1969, 12, 31), dt.date(1, 1, 1), dt.date.max, None],
    "timestamp": TIMES,
    "timestamp_ntz": TIMES,
    "interval day to second": [dt.timedelta(days=1), dt.timedelta(microseconds=-1), None],
    "array<string>": [["hot"], [], [None], ["a", None, ""], ["a,b"], None],
    "array<double>": [[0.0], [-0.0], [math.nan], [], None],
    "struct<a:int,b:string>": [(1, "hot"), (1, None), (None, None), (1, ""), None],
    "struct<`a.b`:struct<`c``d`:timestamp>>": [((time,),) for time in TIMES[:4]] + [None],
}
"""Values by type, the hottest first."""

NAMES = [
    "user",
    "a.b",
    "back`tick",
    'dou"ble',
    "it's",
    "two\nlines",
    "$a_$",
    "🙈",
    "שם",
    " ",
    "select",
    "lane",
    "hash",
    "key",
    "window.start",
    "a,b;c{d}(e)=f\tg",
    "ÄÖÜ",
]
"""Names for columns."""
