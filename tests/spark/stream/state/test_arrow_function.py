"""A function of Arrow tables sees every key once a batch, and what it gives is checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import types as T

from tests.spark.stream.state.lanes import SHAPE, Lanes, laid_out, struct
from trimtab.errors import FunctionFailed
from trimtab.spark.stream.state.arrow_function import ArrowCalls

RESULT = struct(user=T.StringType(), n=T.LongType())


def calls(function: Callable[..., Any]) -> ArrowCalls:
    return ArrowCalls(function, RESULT, SHAPE.state, ("user", "x", "ts"))


def count(keys: pa.Table, rows: pa.Table, states: pa.Table) -> tuple[pa.Table, pa.Table]:
    counts = np.bincount(rows["row_of_key"].to_numpy(), minlength=keys.num_rows)
    n = pc.add(states["n"].fill_null(0), pa.array(counts))
    stays = pc.less(n, 5)
    after = pa.table({"n": n, "text": keys["user"], "exists": stays})
    return keys.append_column("n", n), after


def test_keys_come_once_with_their_rows_and_states(tmp_path: Path) -> None:
    lanes = Lanes(tmp_path)
    rows = [("a", 1, 0)] * 2 + [("b", 1, 0)] + [("c", 1, 0)] * 9
    first, record = lanes.run(calls(count), laid_out(rows), chunk=3)
    assert sorted((row["user"], row["n"]) for row in first) == [("a", 2), ("b", 1), ("c", 9)]
    # A key with five rows or more is let go.
    assert record["keys"] == 2
    second, record = lanes.run(calls(count), laid_out(rows), chunk=3)
    assert sorted((row["user"], row["n"]) for row in second) == [("a", 4), ("b", 2), ("c", 9)]
    third, record = lanes.run(calls(count), laid_out(rows[:2]), chunk=3)
    assert [row["n"] for row in third] == [6]
    assert record["keys"] == -1


@pytest.mark.parametrize(
    ("function", "words"),
    [
        pytest.param(lambda k, r, s: 1 / 0, "ZeroDivisionError", id="it raises"),
        pytest.param(lambda k, r, s: k, "two tables", id="it gives one table"),
        pytest.param(lambda k, r, s: (k, s), "results .* no column 'n'", id="a column is missing"),
        pytest.param(
            lambda k, r, s: (k.append_column("n", pa.array([1])), s.slice(1)),
            "gave 0 states for 1 keys",
            id="too few states",
        ),
    ],
)
def test_what_a_function_does_wrong_is_told(tmp_path: Path, function: Any, words: str) -> None:
    with pytest.raises(FunctionFailed, match=words):
        Lanes(tmp_path).run(calls(function), laid_out([("a", 1, 0)]))
