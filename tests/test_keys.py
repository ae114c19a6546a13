from __future__ import annotations

import datetime
import itertools
import struct
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden_keys
from tests.reference.xxhash64 import hash_column, hash_row, xxhash64
from trimtab import hash_keys
from trimtab.errors import InvalidArgument, UnsupportedKeyType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def hashed(*columns: Any) -> list[int]:
    result = hash_keys(*columns)
    assert result.dtype == np.uint64
    assert result.ndim == 1
    return [int(h) for h in result]


def longs(values: list[int | None]) -> list[int]:
    return hash_column("bigint", values)


def ints(values: list[int | None]) -> list[int]:
    return hash_column("int", values)


# --- what Spark says -----------------------------------------------------------------------------

VECTORS = golden_keys.load()


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: ", ".join(vector["types"]))
def test_equals_the_hashes_that_spark_gave(vector: dict[str, Any]) -> None:
    columns = [
        golden_keys.to_arrow(kind, stored)
        for kind, stored in zip(vector["types"], vector["columns"], strict=True)
    ]
    assert hashed(*columns) == vector["hashes"]


def test_the_committed_vectors_are_those_of_the_cases() -> None:
    stored = [{key: v[key] for key in ("types", "columns")} for v in VECTORS]
    assert stored == list(golden_keys.cases())


@pytest.mark.spark
def test_spark_still_gives_the_committed_vectors(spark: SparkSession) -> None:
    assert golden_keys.produce(spark) == VECTORS


def spark_hashes(frame: Any, columns: list[str]) -> list[int]:
    rows = frame.selectExpr("row", f"xxhash64({', '.join(columns)}) AS hash").toArrow()
    return [int(h) for h in rows.sort_by("row")["hash"].to_numpy().view(np.uint64)]


@pytest.mark.spark
def test_a_pandas_frame_is_read_as_spark_takes_it_over(spark: SparkSession) -> None:
    frame = pd.DataFrame(
        {
            "row": range(4),
            "real": [1.5, np.nan, -0.0, np.inf],
            "text": ["a", None, "b", np.nan],
            "small": np.array([1, -2, 3, 4], dtype=np.int16),
            "whole": pd.array([1, None, 3, -4], dtype="Int64"),
            # Whole microseconds: Spark does not take finer ones from pandas, only from Arrow.
            "when": pd.array([-1_000, 2_000, -3_000, None], dtype="datetime64[ns]"),
            "kind": pd.Categorical(["x", "y", None, "x"]),
        }
    )
    taken_over = spark.createDataFrame(frame)
    names = ["real", "text", "small", "whole", "when", "kind"]
    for name in names:
        assert hashed(frame[name]) == spark_hashes(taken_over, [name]), name
    assert hashed(frame[names]) == spark_hashes(taken_over, names)


@pytest.mark.spark
def test_an_arrow_table_is_read_as_spark_takes_it_over(spark: SparkSession) -> None:
    inner = pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 4, "b": None}])
    table = pa.table(
        {
            "row": range(4),
            "nested": inner,
            "nanos": pa.array([-1, 1_999, -1_500, None], pa.timestamp("ns", "UTC")),
            "millis": pa.array([-1, 1_999, -1_500, None], pa.timestamp("ms", "Europe/Athens")),
            "nan": pa.array([np.nan, None, -0.0, 0.0]),
            "fixed": pa.array([b"ab", b"cd", None, b"\0\0"], pa.binary(2)),
            "large": pa.array(["", "ab", None, "c"], pa.large_string()),
        }
    )
    taken_over = spark.createDataFrame(table)
    for name in table.column_names[1:]:
        assert hashed(table[name]) == spark_hashes(taken_over, [name]), name
    assert hashed(table.drop("row")) == spark_hashes(taken_over, table.column_names[1:])


@pytest.mark.spark
def test_small_unsigned_integers_are_what_spark_reads_from_parquet(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = pa.table(
        {
            "row": range(3),
            "u8": pa.array([0, 255, None], pa.uint8()),
            "u16": pa.array([0, 65_535, None], pa.uint16()),
            "u32": pa.array([0, 2**32 - 1, None], pa.uint32()),
        }
    )
    pq.write_table(table, tmp_path / "unsigned.parquet")
    read = spark.read.parquet(str(tmp_path / "unsigned.parquet"))
    for name in ("u8", "u16", "u32"):
        assert hashed(table[name]) == spark_hashes(read, [name]), name


# --- fast equals slow ----------------------------------------------------------------------------

TWINS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "boolean": (pa.bool_(), st.booleans()),
    "tinyint": (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    "smallint": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "bigint": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "string": (pa.string(), st.text(max_size=40)),
    "binary": (pa.binary(), st.binary(max_size=100)),
}


@st.composite
def columns(draw: st.DrawFn, rows: int | None = None) -> tuple[str, list[Any]]:
    kind = draw(st.sampled_from(sorted(TWINS)))
    size = {"max_size": 30} if rows is None else {"min_size": rows, "max_size": rows}
    return kind, draw(st.lists(st.none() | TWINS[kind][1], **size))


@given(columns())
def test_one_column_equals_the_twin(column: tuple[str, list[Any]]) -> None:
    kind, values = column
    assert hashed(pa.array(values, TWINS[kind][0])) == hash_column(kind, values)


@given(columns(), st.data())
def test_slices_and_chunks_equal_the_twin(
    column: tuple[str, list[Any]], data: st.DataObject
) -> None:
    kind, values = column
    whole = pa.array(values, TWINS[kind][0])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=4)))
    edges = [0, *cuts, len(values)]
    expected = hash_column(kind, values)
    pieces = []
    for a, b in itertools.pairwise(edges):
        pieces.append(whole[a:b])
        assert hashed(pieces[-1]) == expected[a:b]
    assert hashed(pa.chunked_array(pieces)) == expected


@given(st.lists(columns(rows=5), min_size=1, max_size=4))
def test_several_columns_equal_the_twin(drawn: list[tuple[str, list[Any]]]) -> None:
    kinds = [kind for kind, _ in drawn]
    rows = zip(*(values for _, values in drawn), strict=True)
    expected = [hash_row(kinds, row) for row in rows]
    arrays = [pa.array(values, TWINS[kind][0]) for kind, values in drawn]
    names = [f"c{at}" for at in range(len(arrays))]
    assert hashed(*arrays) == expected
    assert hashed(pa.table(arrays, names=names)) == expected
    assert hashed(pa.record_batch(arrays, names=names)) == expected
    assert hashed(pa.StructArray.from_arrays(arrays, names=names)) == expected


@given(st.lists(st.none() | st.text(max_size=12), max_size=30), st.integers(0, 8))
def test_every_encoding_of_strings_equals_the_twin(texts: list[str | None], skip: int) -> None:
    expected = hash_column("string", texts)[skip:]
    plain = pa.array(texts, pa.string())
    for array in (
        plain,
        plain.cast(pa.large_string()),
        plain.cast(pa.string_view()),
        plain.dictionary_encode(),
        plain.cast(pa.binary()),
        plain.cast(pa.large_binary()),
        plain.cast(pa.binary_view()),
    ):
        assert hashed(array[skip:]) == expected, array.type


@pytest.mark.parametrize("length", [*range(33), 63, 64, 65, 95, 96, 97, 1000])
def test_the_twin_and_the_kernel_agree_on_every_tail_length(length: int) -> None:
    blob = bytes((i * 151 + 3) % 256 for i in range(length))
    # A byte on either side shows whether the kernel reads beyond its key.
    assert hashed([b"\xff", blob, b"\xff"])[1] == xxhash64(blob, 42)


def test_the_twin_gives_the_published_check_values() -> None:
    assert xxhash64(b"", 0) == 0xEF46DB3751D8E999
    assert xxhash64(b"a", 0) == 0xD24EC4F1A98C6E5B
    assert xxhash64(b"Nobody inspects the spammish repetition", 0) == 0xFBCEA83C8A378BF1


# --- one claim each ------------------------------------------------------------------------------

DAY = datetime.date(2020, 2, 29)
NOON = datetime.datetime(1969, 12, 31, 12, 0, 0, 1, tzinfo=datetime.UTC)
NOON_MICROS = -43_200_000_000 + 1


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        pytest.param([1, None, -3], longs([1, None, -3]), id="Python integers are bigints"),
        pytest.param(
            ("a", "b"), hash_column("string", ["a", "b"]), id="a tuple is a column, not a row"
        ),
        pytest.param(range(3), longs([0, 1, 2]), id="a range is a column"),
        pytest.param([None, None], [42, 42], id="a column of nulls alone keeps the seed"),
        pytest.param([], [], id="an empty list has no hashes"),
        pytest.param([True, False], ints([1, 0]), id="booleans are hashed as 1 and 0"),
        pytest.param([DAY], ints([18_321]), id="dates are hashed as days since 1970"),
        pytest.param([NOON], longs([NOON_MICROS]), id="times before 1970 are negative"),
        pytest.param(
            np.array([1, 2], dtype=np.int8), ints([1, 2]), id="a tinyint is hashed as an int"
        ),
        pytest.param(np.array([1, 2, 3, 4])[::2], longs([1, 3]), id="numpy strides are honoured"),
        pytest.param(np.array([1, -2], dtype=">i8"), longs([1, -2]), id="byte order is not"),
        pytest.param(
            np.array(["2020-02-29", "NaT"], dtype="M8[D]"),
            ints([18_321, None]),
            id="numpy days are dates, and NaT is null",
        ),
        pytest.param(
            np.array([-1, 1_999, -1_001], dtype="M8[ns]"),
            longs([-1, 1, -2]),
            id="nanoseconds are rounded down",
        ),
        pytest.param(
            np.array([-2], dtype="M8[s]"), longs([-2_000_000]), id="seconds become microseconds"
        ),
        pytest.param(
            np.ma.array([1, 2], mask=[False, True]), longs([1, None]), id="masked means null"
        ),
        pytest.param(
            np.array(["é", "bb"]), hash_column("string", ["é", "bb"]), id="numpy strings are text"
        ),
        pytest.param(np.array([b"a"]), hash_column("binary", [b"a"]), id="numpy bytes are binary"),
        pytest.param(
            np.array(["a", None], dtype=object),
            hash_column("string", ["a", None]),
            id="objects are looked at",
        ),
        pytest.param(
            np.array([np.nan, -0.0]),
            hash_column("double", [float("nan"), 0.0]),
            id="NaN in numpy is NaN, and minus zero is zero",
        ),
        pytest.param(
            pd.Series([1.5, np.nan]),
            hash_column("double", [1.5, None]),
            id="NaN in pandas is null",
        ),
        pytest.param(pd.Index([7, 8]), longs([7, 8]), id="a pandas index is a column"),
        pytest.param(
            pd.Series(["a", None], dtype="string[pyarrow]"),
            hash_column("string", ["a", None]),
            id="pandas strings in Arrow",
        ),
        pytest.param(
            pa.array([Decimal("-1.50"), None], pa.decimal256(10, 2)),
            longs([-150, None]),
            id="wide containers of short decimals are longs",
        ),
        pytest.param(
            pa.array([Decimal("-1.50"), None], pa.decimal32(5, 2)),
            longs([-150, None]),
            id="narrow decimals are longs",
        ),
        pytest.param(
            pa.array([Decimal("0.1"), Decimal("9.9")] * 3, pa.decimal128(2, 1))[3:5],
            longs([99, 1]),
            id="slices of decimals start where they should",
        ),
        pytest.param(
            pa.array([None, {"a": None}, {"a": 5}]),
            longs([None, None, 5]),
            id="a null struct and a null field keep the seed",
        ),
        pytest.param(
            pa.DictionaryArray.from_arrays([0, None, 1, 2], ["a", None, "b"]),
            hash_column("string", ["a", None, None, "b"]),
            id="a null code and a null entry of a dictionary keep the seed",
        ),
        pytest.param(
            pa.DictionaryArray.from_arrays(pa.array([2], pa.int8()), ["a", "b", "c"]),
            hash_column("string", ["c"]),
            id="a dictionary may be longer than its column",
        ),
        pytest.param(pa.chunked_array([], pa.int64()), [], id="no chunk at all"),
    ],
)
def test_what_a_column_is(column: Any, expected: list[int]) -> None:
    assert hashed(column) == expected


def test_a_dictionary_after_another_column_takes_its_hash_as_seed() -> None:
    texts = ["a", "b", None, "a"]
    expected = [hash_row(["bigint", "string"], row) for row in enumerate(texts)]
    assert hashed(range(4), pa.array(texts).dictionary_encode()) == expected


def test_columns_with_one_name_are_still_two() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert hashed(frame) == [hash_row(["bigint", "bigint"], [1, 2])]


def test_unaligned_buffers_are_read_right() -> None:
    raw = b"\0" + struct.pack("<3q", 5, -6, 7)
    array = pa.Array.from_buffers(pa.int64(), 3, [None, pa.py_buffer(raw).slice(1)])
    assert hashed(array) == longs([5, -6, 7])


def test_input_is_left_untouched() -> None:
    values = np.array([3.0, -0.0, np.nan])
    before = values.tobytes()
    hash_keys(values)
    assert values.tobytes() == before
    assert values.flags.writeable


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        pytest.param(pa.array([1], pa.uint64()), "uint64: .*decimal", id="uint64"),
        pytest.param(np.array([1], dtype=np.uint64), "uint64", id="numpy uint64"),
        pytest.param(np.array([1], dtype=np.float16), "halffloat: .*float32", id="half floats"),
        pytest.param(pa.array([0], pa.date64()), "date64.*date32", id="milliseconds as date"),
        pytest.param(pa.array([], pa.decimal128(19, 2)), "decimal128.*18", id="long decimals"),
        pytest.param(pa.array([], pa.decimal128(5, -2)), "decimal128.*scale", id="negative scale"),
        pytest.param(pa.array([[1]]), "list<", id="lists"),
        pytest.param([("a", 1)], "one type", id="rows instead of columns"),
        pytest.param([["a"], ["b"]], "several columns", id="a list of columns"),
        pytest.param(pa.array([], pa.map_(pa.string(), pa.int64())), "map<", id="maps"),
        pytest.param(pa.array([{"a": [1]}]), "list<", id="a list inside a struct"),
        pytest.param(pa.array([1], pa.duration("us")), "duration", id="intervals"),
        pytest.param([datetime.time(1)], "time64", id="times of day"),
        pytest.param([Decimal("1.5")], "precision", id="decimals of unknown precision"),
        pytest.param(pd.Series([Decimal("1.5")]), "precision", id="the same in pandas"),
        pytest.param([1, "a"], "one type", id="mixed types"),
        pytest.param([2**70], "one type", id="integers of more than 64 bits"),
        pytest.param(["\ud800"], "one type", id="text that is not Unicode"),
        pytest.param([1j], "one type", id="complex numbers"),
        pytest.param([object()], "one type", id="arbitrary objects"),
    ],
)
def test_other_types_are_refused_by_name(keys: Any, says: str) -> None:
    with pytest.raises(UnsupportedKeyType, match=says):
        hash_keys(keys)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        pytest.param(("text",), "columns", id="a string is not a column of letters"),
        pytest.param((b"text",), "columns", id="nor are bytes"),
        pytest.param((7,), "columns", id="a number is not a column"),
        pytest.param((None,), "columns", id="nor is nothing"),
        pytest.param(({"a": [1]},), "columns", id="a dict of columns"),
        pytest.param(({1, 2},), "columns", id="a set has no order"),
        pytest.param((np.zeros((2, 2)),), "one-dimensional", id="a matrix"),
        pytest.param((np.int64(3),), "columns", id="a numpy scalar"),
        pytest.param(([1, 2], [1]), r"\[2, 1\]", id="columns of unequal length"),
        pytest.param((pa.table({}),), "no column", id="a table without columns"),
        pytest.param(
            (pa.array([2**62], pa.timestamp("s")),), "microseconds", id="beyond Spark's time"
        ),
    ],
)
def test_what_is_not_a_column_is_refused(keys: tuple[Any, ...], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        hash_keys(*keys)
