"""Questions to arrays of key hashes, against lists and the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab._key_arrays import find_keys, host_of

word = st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1), st.just(2**64 - 1))


@given(keys=st.lists(word, unique=True, max_size=30), wanted=st.lists(word, max_size=30))
def test_keys_are_found_where_they_are(keys: list[int], wanted: list[int]) -> None:
    rising = sorted(keys)
    at, found = find_keys(np.array(rising, np.uint64), np.array(wanted, np.uint64))
    assert found.tolist() == [key in keys for key in wanted]
    assert at[found].tolist() == [rising.index(key) for key in wanted if key in keys]
    assert not rising or ((at >= 0) & (at < len(rising))).all()


@given(keys=st.lists(word, max_size=30), hosts=st.integers(1, 1 << 20))
def test_a_host_is_the_hash_modulo_the_number_of_hosts(keys: list[int], hosts: int) -> None:
    found = host_of(np.array(keys, np.uint64), hosts)
    assert found.dtype == np.int64
    assert found.tolist() == [key % hosts for key in keys]
