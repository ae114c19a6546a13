from __future__ import annotations

import pyarrow as pa

from trimtab.journal.keyed.sizes import entry_bytes


def test_texts_and_lists_count_by_their_length() -> None:
    table = pa.table(
        {
            "n": pa.array([1, None], pa.int32()),
            "text": ["", "abc"],
            "list": pa.array([[1, 2], None], pa.list_(pa.int64())),
            "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
        }
    )
    assert entry_bytes(table).tolist() == [4 + 0 + 16 + 8, 4 + 3]
