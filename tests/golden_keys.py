"""Keys of every type, and Spark's own hashes of them: the golden vectors of `hash_keys`.

The vectors are committed as JSON so that no Spark is needed to test against them. Values are
stored without loss: floats by their bits, times and dates by their count, decimals by the
unscaled number, binaries as hexadecimal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOLDEN = Path(__file__).parent / "data" / "golden_xxhash64.json"

UTC = pa.timestamp("us", "UTC")

TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": UTC,
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(9,2)": pa.decimal128(9, 2),
    "decimal(18,0)": pa.decimal128(18, 0),
    "decimal(18,18)": pa.decimal128(18, 18),
}

STORED_AS: dict[str, pa.DataType] = {
    "float": pa.int32(),
    "double": pa.int64(),
    "date": pa.int32(),
    "timestamp": pa.int64(),
    "timestamp_ntz": pa.int64(),
}
"""Types that are stored by their bits: numbers of the same width."""

LETTERS = "Aé\u03a9\u6f22\U0001f600 z0\x00~"


def _bits(width: int) -> list[int | None]:
    low, high = -(1 << width - 1), (1 << width - 1) - 1
    return [0, 1, -1, 2, 42, -42, low, low + 1, high - 1, high, None]


def _text(length: int) -> str:
    return "".join(LETTERS[i * 7 % len(LETTERS)] for i in range(length))


def _blob(length: int) -> str:
    return bytes((i * 167 + length) % 256 for i in range(length)).hex()


FLOAT_BITS = [0x00000000, -0x80000000, 0x3F800000, -0x40800000, 1, 0x007FFFFF, 0x7F7FFFFF]
FLOAT_BITS += [0x7F800000, -0x00800000, 0x7FC00000, -0x00400000, 0x7F800001, 0x7FFFFFFF]
DOUBLE_BITS = [0, -(1 << 63), 0x3FF0000000000000, -0x4010000000000000, 1, 0x7FEFFFFFFFFFFFFF]
DOUBLE_BITS += [0x7FF0000000000000, -0x0010000000000000, 0x7FF8000000000000, -0x0008000000000000]
DOUBLE_BITS += [0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF]

# About the years 1 to 9999, which is what Spark's own types allow.
DAYS = [0, 1, -1, 19_000, -719_162, 2_932_896, None]
MICROS = [0, 1, -1, 1_700_000_000_123_456, -1_000_001, -62_135_596_800_000_000, None]
MICROS += [253_402_300_799_999_999]

SINGLE: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "tinyint": _bits(8),
    "smallint": _bits(16),
    "int": _bits(32),
    "bigint": _bits(64),
    "float": [*FLOAT_BITS, None],
    "double": [*DOUBLE_BITS, None],
    # Every length up to three stripes of 32 bytes, and one long key.
    "string": ["", "a", "user-000001", *(_text(n) for n in range(41)), "x" * 1000, None],
    "binary": [*(_blob(n) for n in range(100)), None],
    "date": DAYS,
    "timestamp": MICROS,
    "timestamp_ntz": MICROS,
    "decimal(9,2)": [0, 1, -1, 12345, -999_999_999, 999_999_999, None],
    "decimal(18,0)": [0, 1, -1, 10**18 - 1, 1 - 10**18, None],
    "decimal(18,18)": [0, 1, -1, 10**18 - 1, 1 - 10**18, None],
}

SEVERAL: list[tuple[str, ...]] = [
    ("int", "int"),
    ("bigint", "string"),
    ("string", "bigint"),
    ("string", "string", "string"),
    ("boolean", "double", "date", "decimal(9,2)", "binary"),
    ("timestamp", "float", "tinyint", "smallint", "timestamp_ntz", "decimal(18,0)"),
]


def cases() -> Iterator[dict[str, Any]]:
    """Return all cases: for each its column types and its columns of stored values."""
    for kind, values in SINGLE.items():
        yield {"types": [kind], "columns": [values]}
    for kinds in SEVERAL:
        # Different strides, so that nulls of different columns meet and part.
        columns = [
            [SINGLE[kind][(i * (3 + at) + at) % len(SINGLE[kind])] for i in range(24)]
            for at, kind in enumerate(kinds)
        ]
        columns = [[None, *column[1:]] for column in columns]
        yield {"types": list(kinds), "columns": columns}


def to_arrow(kind: str, stored: list[Any]) -> pa.Array:
    """Turn stored values into the Arrow array they stand for."""
    arrow_type = TYPES[kind]
    if kind in STORED_AS:
        return pa.array(stored, STORED_AS[kind]).view(arrow_type)
    if kind.startswith("decimal"):
        shift = -arrow_type.scale
        stored = [None if v is None else Decimal(v).scaleb(shift) for v in stored]
    elif kind == "binary":
        stored = [None if v is None else bytes.fromhex(v) for v in stored]
    return pa.array(stored, arrow_type)


def hashes_from_spark(spark: SparkSession, case: dict[str, Any]) -> list[int]:
    """Ask Spark for `xxhash64` of each row, as unsigned numbers."""
    arrays = [
        to_arrow(kind, stored) for kind, stored in zip(case["types"], case["columns"], strict=True)
    ]
    names = [f"c{at}" for at in range(len(arrays))]
    rows = pa.array(range(len(arrays[0])))
    frame = spark.createDataFrame(pa.table([rows, *arrays], names=["row", *names]))
    keys = [f"CAST({name} AS {kind})" for name, kind in zip(names, case["types"], strict=True)]
    hashed = frame.selectExpr("row", f"xxhash64({', '.join(keys)}) AS hash").toArrow()
    signed = hashed.sort_by("row")["hash"].to_numpy().astype(np.int64)
    return [int(h) for h in signed.view(np.uint64)]


def produce(spark: SparkSession) -> list[dict[str, Any]]:
    """Return all cases with the hashes that Spark gives."""
    return [{**case, "hashes": hashes_from_spark(spark, case)} for case in cases()]


def to_json(vectors: list[dict[str, Any]]) -> str:
    """Write the vectors so that a change shows up as a small difference."""
    return json.dumps(vectors, indent=1, ensure_ascii=True) + "\n"


def load() -> list[dict[str, Any]]:
    """Read the committed vectors."""
    vectors: list[dict[str, Any]] = json.loads(GOLDEN.read_text(encoding="ascii"))
    return vectors
