from __future__ import annotations

import numpy as np
import pyarrow as pa

from trimtab import hash_keys, router
from trimtab.receive.buffer import Buffer
from trimtab.receive.records import Rejected
from trimtab.workloads import zipf_ids

SCHEMA = pa.schema({"k": pa.int64(), "x": pa.int64()})


def table(keys: object, start: int) -> pa.Table:
    ids = pa.array(keys, pa.int64())
    return pa.table({"k": ids, "x": pa.array(range(start, start + len(ids)))}, SCHEMA)


def test_counts_grow_with_the_rows_and_are_exact() -> None:
    ids = zipf_ids(5000, 300, 1.2, seed=1)
    buffer = Buffer(SCHEMA, ("k",), first=10)
    assert buffer.empty
    for start in range(0, 5000, 999):
        part = ids[start : start + 999]
        buffer.add(10 + start, part.size, table(part, start), [])
    assert (buffer.rows, buffer.first, buffer.end) == (5000, 10, 5010)
    full = buffer.histogram(hosts=16, known=1000)
    keys, counts = np.unique(hash_keys(ids), return_counts=True)
    assert dict(zip(full.hashes.tolist(), full.weights.tolist(), strict=True)) == dict(
        zip(keys.tolist(), counts.tolist(), strict=True)
    )
    few = buffer.histogram(hosts=16, known=20)
    assert few.hashes[:19].tolist() == full.hashes[:19].tolist()
    assert (len(few), few.total, few.distinct) == (20, 5000, keys.size)
    assert few.host_weights is not None
    assert few.host_weights.tolist() == np.bincount(hash_keys(ids) % 16, minlength=16).tolist()


def test_blocks_keep_the_order_of_arrival() -> None:
    ids = np.arange(1000) % 7
    buffer = Buffer(SCHEMA, ("k",), first=0)
    for start in (0, 500):
        buffer.add(start, 500, table(ids[start : start + 500], start), [])
    lanes = (np.arange(1000) * 7919 % 5).astype(np.int32)
    lanes[lanes == 3] = 4
    blocks = buffer.cut(lanes, 6)
    assert [block["x"].to_pylist() for block in blocks] == [
        np.flatnonzero(lanes == lane).tolist() for lane in range(6)
    ]
    assert blocks[3].schema == SCHEMA


def test_a_router_places_rows_as_they_come() -> None:
    ids = zipf_ids(2000, 50, 1.5, seed=2)
    buffer = Buffer(SCHEMA, ("k",), 0, router("pkg", lanes=4, seed=3))
    for start in (0, 700):
        part = ids[start : start + (700 if start == 0 else 1300)]
        buffer.add(start, part.size, table(part, start), [])
    expected = router("pkg", lanes=4, seed=3).route(hash_keys(ids))
    assert buffer.lanes().tolist() == expected.tolist()


def test_rejected_records_have_numbers_and_no_rows() -> None:
    buffer = Buffer(SCHEMA, ("k",), 7)
    buffer.add(7, 3, table([], 0), [Rejected(1, b"xyz", "why")])
    assert (buffer.rows, buffer.end, buffer.rejected_bytes, buffer.empty) == (0, 10, 3, False)
    assert buffer.rejected[0][0] == 8
    assert buffer.cut(buffer.lanes(), 2)[1].num_rows == 0
    assert buffer.hashes().size == 0
