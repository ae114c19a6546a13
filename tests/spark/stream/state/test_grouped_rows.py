from __future__ import annotations

import numpy as np
import pyarrow as pa

from trimtab.spark.stream.state.grouped_rows import GroupedRows, SortedRows


class Batch:
    def __init__(self, keys: list[int]) -> None:
        hashes = np.array(keys, dtype=np.int64)
        rows = pa.record_batch({"k": pa.array(keys, pa.int64())})
        self.sorted_rows = SortedRows(rows, hashes, hashes)


def test_groups_go_on_over_batches_and_rest_is_passed_over() -> None:
    batches = iter([Batch([1, 1, 2]), Batch([2]), Batch([2, 3]), Batch([4, 5])])
    grouped = GroupedRows(batches, lambda batch, group: batch.sorted_rows.bounds(group))
    found = []
    for batch, group, pieces in grouped.groups():
        key = batch.sorted_rows.key(group)[0]
        found.append((key, list(pieces) if key != 4 else next(pieces)))
    assert found == [
        (1, [(0, 2)]),
        (2, [(2, 3), (0, 1), (0, 1)]),
        (3, [(1, 2)]),
        (4, (0, 1)),
        (5, [(1, 2)]),
    ]


def test_nothing_has_no_groups() -> None:
    grouped = GroupedRows(iter([]), lambda batch, group: None)
    assert list(grouped.groups()) == []
