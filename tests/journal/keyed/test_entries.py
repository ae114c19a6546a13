"""Entries are found by both hashes, and the newest of each key counts."""

from __future__ import annotations

import numpy as np

from tests.journal.keyed.tables import table
from trimtab.journal.keyed.entries import Entries, hidden_by, sorted_entries


def longs(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_keys_of_one_hash_are_told_apart() -> None:
    entries = sorted_entries([table([(5, 2, 1, -1, 20), (5, 1, 1, -1, 10), (-7, 0, 1, -1, 0)])])
    assert entries.find(longs(5, 5, 5, -7, 9), longs(1, 2, 3, 0, 0)).tolist() == [1, 2, -1, 0, -1]
    assert entries.take(longs(2, 0))["state:v"].to_pylist() == [20, 0]


def test_the_newest_of_a_key_counts_and_hides_what_is_gone() -> None:
    newest = table([(3, 0, 0, -1, 0), (4, 0, 1, -1, 41)])
    oldest = table([(3, 0, 1, -1, 30), (4, 0, 1, -1, 40), (6, 0, 1, -1, 60)])
    kept = sorted_entries([newest, oldest])
    assert kept.table["state:v"].to_pylist() == [0, 41, 60]
    bottom = sorted_entries([newest, oldest], with_gone=False)
    assert bottom.table["state:v"].to_pylist() == [41, 60]


def test_rows_are_taken_in_order_from_several_batches() -> None:
    whole = table([(h, 0, 1, -1, h * 10) for h in range(10)])
    entries = Entries(type(whole).from_batches(whole.to_batches(max_chunksize=3)))
    assert entries.take(longs(9, 0, 4, 3))["state:v"].to_pylist() == [90, 0, 40, 30]


def test_a_key_is_hidden_by_any_layer_above() -> None:
    above = [
        sorted_entries([table([(1, 0, 1, -1, 0)])]),
        sorted_entries([table([(2, 9, 0, -1, 0)])]),
    ]
    assert hidden_by(above, longs(1, 2, 2, 3), longs(0, 0, 9, 0)).tolist() == [
        True,
        False,
        True,
        False,
    ]
