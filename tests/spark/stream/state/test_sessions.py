"""Sessions of many keys at once are those that a plain loop finds."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import types as T

from tests.spark.stream.state.lanes import struct
from trimtab.spark.stream.state.sessions import MergeSessions
from trimtab.spark.stream.state.vector_work import Keys

GAP = 10
RESULT = struct(k=T.LongType(), start=T.LongType(), end=T.LongType(), n=T.LongType())


def plain(times: list[int]) -> list[tuple[int, int, int]]:
    """Return (start, end, rows) of the sessions of one key, row by row."""
    found: list[tuple[int, int, int]] = []
    for time in sorted(times):
        if found and time <= found[-1][1]:
            start, end, rows = found.pop()
            found.append((start, max(end, time + GAP), rows + 1))
        else:
            found.append((time, time + GAP, 1))
    return found


def keys_with(times: dict[int, list[int]], states: pa.Table | None) -> Keys:
    keys = sorted(times)
    rows = pa.record_batch(
        {
            "at": pa.array([t for k in keys for t in times[k]], pa.int64()),
            "until": pa.array([t + GAP for k in keys for t in times[k]], pa.int64()),
            "n": pa.array([1 for k in keys for _ in times[k]], pa.int64()),
        }
    )
    counts = [len(times[key]) for key in keys]
    empty = pa.nulls(len(keys), pa.list_(pa.int64()))
    states = pa.table([empty] * 3, names=["start", "end", "n"]) if states is None else states
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    return Keys(
        pa.table({"k": keys}),
        rows,
        np.repeat(np.arange(len(keys)), counts),
        starts,
        states,
        np.zeros(len(keys), dtype=np.bool_),
    )


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_two_batches_make_the_sessions_of_all_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    work = MergeSessions([("n", "sum")], RESULT, watermark=0)
    batches = [
        {key: rng.integers(0, 120, rng.integers(1, 9)).tolist() for key in range(20)}
        for _ in range(2)
    ]
    first = work.made(keys_with(batches[0], None))
    second = work.made(keys_with(batches[1], first.states))
    for key in range(20):
        wanted = plain(batches[0][key] + batches[1][key])
        row = second.states.slice(key, 1).to_pylist()[0]
        assert list(zip(row["start"], row["end"], row["n"], strict=True)) == wanted
        assert second.timeouts[key] == -(-wanted[0][1] // 1000)


def merged(kind: pa.DataType, *values: object, round_sums: bool = False) -> list[object]:
    """Return the sum of one session's partial results."""
    work = MergeSessions([("n", "sum")], RESULT, watermark=0, round_sums=round_sums)
    count = len(values)
    times = pa.array(np.arange(count))
    ends = pa.array(np.arange(count) + GAP)
    table = pa.table({"start": times, "end": ends, "n": pa.array(values, kind)})
    found = work._merged(np.zeros(count, dtype=np.int64), table).table["n"]
    assert found.type == kind
    return list(found.to_pylist())


def test_a_sum_that_does_not_fit_is_refused() -> None:
    most = 2**63 - 1
    assert merged(pa.int64(), most, -most, most) == [most]
    assert merged(pa.int64(), -most, -1, None) == [-most - 1]
    wide = Decimal("9" * 38)
    assert merged(pa.decimal128(38, 0), wide, wide.copy_negate(), wide) == [wide]
    for kind, value in ((pa.int64(), most), (pa.decimal128(38, 0), wide)):
        with pytest.raises(pa.ArrowInvalid):
            merged(kind, value, 1)
    assert merged(pa.int64(), most, 1, round_sums=True) == [-most - 1]
