"""The open-addressing table behind the kernels, against a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab._table import KeyTable, locate, number_keys

keys_and_slots = st.dictionaries(st.integers(0, 2**64 - 1), st.integers(0, 1000), max_size=400)


def look_up(table: KeyTable, key: int) -> int:
    return int(table.slots[locate(table.keys, table.slots, np.uint64(key))])


@given(entries=keys_and_slots, absent=st.integers(0, 2**64 - 1))
def test_it_holds_what_a_dictionary_holds(entries: dict[int, int], absent: int) -> None:
    table = KeyTable()
    keys = np.array(list(entries), dtype=np.uint64)
    table.fill(keys, np.array(list(entries.values()), dtype=np.int32))
    for _ in range(2):
        assert len(table) == len(entries)
        assert all(look_up(table, key) == slot for key, slot in entries.items())
        assert look_up(table, absent) == entries.get(absent, -1)
        held_keys, held_slots = table.entries()
        assert dict(zip(held_keys.tolist(), held_slots.tolist(), strict=True)) == entries
        table.grow()
    table.clear()
    assert len(table) == 0
    assert look_up(table, absent) == -1


def test_keys_that_share_all_low_bits_are_told_apart() -> None:
    keys = np.arange(1000, dtype=np.uint64) << np.uint64(50)
    table = KeyTable()
    table.fill(keys, np.arange(1000, dtype=np.int32))
    assert [look_up(table, int(key)) for key in keys] == list(range(1000))


@given(keys=st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=100), data=st.data())
def test_keys_are_numbered_in_their_order_and_all_others_forgotten(
    keys: list[int], data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, len(keys)))
    every = np.array(keys, dtype=np.uint64)
    table = KeyTable(len(keys))
    table.fill(every, np.zeros(len(keys), dtype=np.int32))
    number_keys(table.arrays, every, count)
    assert len(table) == count
    assert [look_up(table, key) for key in keys] == [*range(count)] + [-1] * (len(keys) - count)
