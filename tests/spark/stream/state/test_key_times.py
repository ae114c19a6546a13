from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import types as T

from tests.spark.stream.state.lanes import CONVERSIONS, SHAPE, Lanes, laid_out, struct
from trimtab.keys import hash_keys
from trimtab.spark.stream.state.arrow_function import ArrowCalls
from trimtab.spark.stream.state.key_times import MOST_KEYS, KeyTimes, key_seconds
from trimtab.spark.stream.state.lane import Work
from trimtab.spark.stream.state.state_function import Moment, StateFunction

RESULT = struct(n=T.LongType())


def slow_for_b(key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: Any) -> Iterator[Any]:
    """Take 20 ms for one key, in three parts, and leave most rows unread."""
    if key[0] == "b":
        time.sleep(0.01)
    for _ in range(2):
        yield pd.DataFrame({"n": [1]})
        time.sleep(0.005 if key[0] == "b" else 0.0)


def vectors(keys: pa.Table, rows: pa.Table, states: pa.Table) -> tuple[pa.Table, pa.Table]:
    time.sleep(0.001 * rows.num_rows)
    nothing = states.drop_columns(["exists"])
    return pa.table({"n": pa.nulls(0, pa.int64())}), nothing


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_a_function_is_timed_key_by_key_however_rows_are_cut(tmp_path: Path, chunk: int) -> None:
    work = StateFunction(slow_for_b, RESULT, "NoTimeout", Moment(0, None), CONVERSIONS, True)
    counts = {"a": 1, "b": 7, "c": 2, "d": 1}
    rows = [(user, 1, 1) for user, count in counts.items() for _ in range(count)]
    found = told(tmp_path, work, rows, chunk)
    hashes = hash_keys(pa.array(list(counts)))
    by_key = dict(
        zip(found.hashes.tolist(), zip(found.rows, found.seconds, strict=True), strict=True)
    )
    assert {key: by_key[key][0] for key in hashes.tolist()} == dict(
        zip(hashes.tolist(), counts.values(), strict=True)
    )
    assert by_key[int(hashes[1])][1] >= 0.02
    assert found.all_rows == 11
    assert found.all_seconds == pytest.approx(float(found.seconds.sum()), abs=1e-4)


def test_vectors_are_timed_together_and_their_keys_by_rows(tmp_path: Path) -> None:
    work = ArrowCalls(vectors, RESULT, SHAPE.state, ("x",))
    found = told(tmp_path, work, [("a", 1, 1)] * 9 + [("b", 1, 1)], 100)
    assert found.all_rows == 10
    assert (found.seconds >= 0.001 * found.rows).all()


def told(place: Path, work: Work, rows: list[Any], chunk: int) -> Any:
    _, record = Lanes(place).run(work, laid_out(rows), chunk=chunk)
    return key_seconds([record["function"], KeyTimes().to_record()])


def test_only_the_heaviest_are_told_of_and_all_are_counted() -> None:
    times = KeyTimes()
    for part in np.array_split(np.arange(1000), 7):
        times.add(part, part % 10, part / 1000.0)
    times.add(np.array([3]), np.array([500]), np.array([0.0]))
    record = json.loads(json.dumps(times.to_record()))
    found = key_seconds([record])
    assert found.hashes.size <= 2 * MOST_KEYS
    assert set(range(1000 - MOST_KEYS, 1000)) <= set(found.hashes.tolist())
    assert found.rows[found.hashes == 3] >= 500
    assert (found.all_rows, found.all_seconds) == (5000, pytest.approx(499.5))
