from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from trimtab.spark.groups.hidden_columns import drop, without_columns, without_columns_of_both
from trimtab.spark.groups.user_functions import ARROW, PANDAS, takes_iterator


def frame() -> pd.DataFrame:
    return pd.DataFrame({"x": [1, 2], "lane": [0, 0], "k": ["a", "a"]})


def pieces_of(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    yield from parts


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (frame, lambda rows: list(rows.columns)),
        (lambda: pa.Table.from_pandas(frame()), lambda rows: rows.column_names),
    ],
    ids=["pandas", "arrow"],
)
def test_columns_of_ours_are_dropped(
    rows: Callable[[], Any], columns: Callable[[Any], list[str]]
) -> None:
    assert columns(drop(rows(), ["lane"])) == ["x", "k"]
    assert columns(drop(rows(), [])) == ["x", "lane", "k"]


def test_a_function_sees_neither_our_columns_nor_our_keys() -> None:
    seen: list[Any] = []

    def both(key: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
        seen.append((key, list(rows.columns)))
        return rows

    without_columns(both, ["lane"], PANDAS)((0, "a"), frame())
    assert seen == [(("a",), ["x", "k"])]


def test_pieces_are_stripped_one_by_one() -> None:
    given = without_columns(pieces_of, ["lane"], PANDAS)
    assert takes_iterator(given)
    assert [list(piece.columns) for piece in given(iter([frame(), frame()]))] == [["x", "k"]] * 2

    def of_arrow(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from parts

    stripped = without_columns(of_arrow, ["lane"], ARROW)
    batch = pa.RecordBatch.from_pandas(frame())
    assert [piece.schema.names for piece in stripped(iter([batch]))] == [["x", "k"]]


def test_both_sides_of_a_pair_are_stripped() -> None:
    def names(left: pd.DataFrame, right: pd.DataFrame) -> list[list[str]]:
        return [list(left.columns), list(right.columns)]

    stripped = without_columns_of_both(names, ["lane"], ["x"])
    assert stripped(frame(), frame()) == [["x", "k"], ["lane", "k"]]
