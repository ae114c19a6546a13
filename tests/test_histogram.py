"""Histograms: what they accept, how they are made, added up and written down."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import Histogram, hash_keys
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.workloads import zipf_ids

streams = st.lists(st.integers(0, 12), max_size=60).map(
    lambda keys: np.array(keys, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
)


def as_dict(h: Histogram) -> dict[int, float]:
    return dict(zip(h.hashes.tolist(), h.weights.tolist(), strict=True))


class TestMaking:
    def test_keys_come_by_falling_weight_then_by_rising_hash(self) -> None:
        h = Histogram.from_counts({5: 1, 9: 3, 2: 3, 7: 8})
        assert h.hashes.tolist() == [7, 2, 9, 5]
        assert h.weights.tolist() == [8, 3, 3, 1]
        assert (h.total, h.distinct, len(h), h.tail_weight) == (15, 4, 4, 0)

    def test_total_and_distinct_are_never_below_what_is_known(self) -> None:
        h = Histogram.from_counts({1: 5, 2: 5}, total=3, distinct=1)
        assert (h.total, h.distinct) == (10, 2)

    def test_a_tail_is_what_the_known_keys_leave(self) -> None:
        h = Histogram.from_counts({1: 5, 2: 5}, total=40, distinct=9)
        assert h.tail_weight == 30
        assert h.shares.tolist() == [0.125, 0.125]

    def test_shares_of_nothing_are_nothing(self) -> None:
        assert Histogram.from_counts({1: 0}).shares.tolist() == [0]
        assert Histogram.from_counts({}).shares.size == 0

    def test_a_pair_of_arrays_is_as_good_as_a_mapping(self) -> None:
        pair = (np.array([4, 9], dtype=np.uint64), np.array([1, 2]))
        assert as_dict(Histogram.from_counts(pair)) == {9: 2, 4: 1}

    def test_signed_longs_are_the_same_keys(self) -> None:
        h = Histogram.from_counts({-1: 2, 7: 1}, labels={-1: "user=ann"})
        assert h.hashes.tolist() == [2**64 - 1, 7]
        assert h.label(-1) == h.label(2**64 - 1) == "user=ann"

    @pytest.mark.parametrize(
        ("counts", "more", "message"),
        [
            ({1: -1}, {}, "weights must be finite and >= 0"),
            ({1: float("nan")}, {}, "weights must be finite and >= 0"),
            ({1: float("inf")}, {}, "weights must be finite and >= 0"),
            (([1, 1], [2, 3]), {}, "a key is twice in the histogram"),
            (([1, 2], [2]), {}, "one weight per key; got 2 keys and 1 weights"),
            ({2**64: 1}, {}, "a key hash must be a whole number"),
            ({"ann": 1}, {}, "a key hash must be a whole number"),
            ((["ann"], [1]), {}, "64-bit key hashes"),
            ({1: 1}, {"unit": "euros"}, "unit must be one of 'rows', 'bytes', 'seconds'"),
            ({1: 1}, {"total": float("nan")}, "total must be a finite number"),
            ({1: 1}, {"host_weights": []}, "host_weights must be a non-empty list"),
            ({1: 1}, {"host_weights": [1, -1]}, "host_weights must be a non-empty list"),
            ({1: 1}, {"host_weights": [[1, 2]]}, "host_weights must be a non-empty list"),
        ],
    )
    def test_bad_histograms_are_refused(
        self, counts: Any, more: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(InvalidArgument, match=message):
            Histogram.from_counts(counts, **more)

    def test_it_cannot_be_changed(self) -> None:
        h = Histogram.from_counts({1: 2}, host_weights=[2.0])
        with pytest.raises(AttributeError):
            h.total = 5.0  # type: ignore[misc]
        for array in (h.hashes, h.weights, h.host_weights):
            assert array is not None
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    def test_the_arrays_it_was_made_from_may_change_later(self) -> None:
        keys, weights = np.array([4, 9], dtype=np.uint64), np.array([1.0, 2.0])
        h = Histogram.from_counts((keys, weights), host_weights=weights)
        keys[0], weights[0] = 1, 77
        assert as_dict(h) == {9: 2, 4: 1}
        assert h.host_weights is not None
        assert h.host_weights.tolist() == [1, 2]


class TestCounting:
    @given(keys=streams)
    def test_counting_equals_a_dictionary(self, keys: Any) -> None:
        slow: dict[int, int] = {}
        for key in keys.tolist():
            slow[key] = slow.get(key, 0) + 1
        h = Histogram.from_hashes(keys, hosts=7)
        assert as_dict(h) == slow
        assert (h.total, h.distinct) == (keys.size, len(slow))
        hosts = [0] * 7
        for key in keys.tolist():
            hosts[key % 7] += 1
        assert h.host_weights is not None
        assert h.host_weights.tolist() == hosts

    def test_rows_may_have_weights(self) -> None:
        keys = np.array([1, 2, 1], dtype=np.uint64)
        h = Histogram.from_hashes(keys, weights=[0.5, 4.0, 0.25], hosts=2, unit="seconds")
        assert as_dict(h) == {2: 4.0, 1: 0.75}
        assert h.unit == "seconds"
        assert h.host_weights is not None
        assert h.host_weights.tolist() == [4.0, 0.75]

    def test_the_heaviest_are_kept_and_the_rest_joins_the_tail(self) -> None:
        keys = hash_keys(zipf_ids(5000, 300, 1.0, seed=2))
        full, top = Histogram.from_hashes(keys), Histogram.from_hashes(keys, top=10)
        assert top.hashes.tolist() == full.hashes[:10].tolist()
        assert (top.total, top.distinct) == (full.total, full.distinct)
        assert top.tail_weight == full.weights[10:].sum()
        assert full.top(10**6).hashes.size == full.hashes.size
        assert len(full.top(0)) == 0

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"weights": [1.0]}, "weights must be one number per hash; got 1 for 2"),
            ({"weights": [1.0, -1.0]}, "finite and >= 0"),
            ({"hosts": 0}, "hosts must be a whole number"),
            ({"top": -1}, "k must be a whole number"),
        ],
    )
    def test_bad_rows_are_refused(self, more: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidArgument, match=message):
            Histogram.from_hashes([1, 2], **more)

    def test_a_sketch_is_anything_with_items_total_and_distinct(self) -> None:
        class Sketch:
            total, distinct = 100.0, 40

            def items(self) -> tuple[Any, Any]:
                return np.array([5, 6, 7], dtype=np.uint64), np.array([10, 30, 20])

        h = Histogram.from_sketch(Sketch(), top=2)
        assert as_dict(h) == {6: 30, 7: 20}
        assert (h.total, h.distinct, h.tail_weight) == (100, 40, 50)

    def test_collected_rows_have_signed_hashes_and_perhaps_names(self) -> None:
        rows = [
            {"hash": -1, "weight": 5, "user": "ann"},
            {"hash": 8, "weight": 7, "user": "bob"},
        ]
        h = Histogram.from_rows(rows, label="user", total=20, distinct=5, unit="bytes")
        assert as_dict(h) == {8: 7, 2**64 - 1: 5}
        assert [h.label(k) for k in h.hashes.tolist()] == ["bob", "ann"]
        assert (h.total, h.distinct, h.unit) == (20, 5, "bytes")
        other = Histogram.from_rows([{"h": 3, "n": 2}], hash="h", weight="n")
        assert as_dict(other) == {3: 2}
        assert len(Histogram.from_rows([])) == 0


class TestAdding:
    @given(parts=st.lists(streams, min_size=1, max_size=4))
    def test_parts_add_up_to_the_whole(self, parts: list[Any]) -> None:
        whole = Histogram.from_hashes(np.concatenate(parts), hosts=5)
        first, *others = [Histogram.from_hashes(part, hosts=5) for part in parts]
        merged = first.merge(*others)
        assert as_dict(merged) == as_dict(whole)
        assert (merged.total, merged.distinct) == (whole.total, whole.distinct)
        assert merged.host_weights is not None
        assert whole.host_weights is not None
        assert merged.host_weights.tolist() == whole.host_weights.tolist()

    def test_tails_add_up_and_the_distinct_count_is_a_lower_bound(self) -> None:
        one = Histogram.from_counts({1: 5, 2: 3}, total=20, distinct=50)
        other = Histogram.from_counts({2: 4, 3: 9}, total=30, distinct=70)
        merged = one.merge(other)
        assert as_dict(merged) == {3: 9, 2: 7, 1: 5}
        assert (merged.total, merged.distinct, merged.tail_weight) == (50, 70, 29)

    def test_host_weights_survive_only_where_all_agree_on_the_hosts(self) -> None:
        keys = np.arange(10, dtype=np.uint64)
        five = Histogram.from_hashes(keys, hosts=5)
        assert five.merge(Histogram.from_hashes(keys, hosts=4)).host_weights is None
        assert five.merge(Histogram.from_hashes(keys)).host_weights is None

    def test_labels_of_all_parts_are_kept_and_follow_the_top(self) -> None:
        one = Histogram.from_counts({1: 5}, labels={1: "ann"})
        both = one.merge(Histogram.from_counts({2: 9}, labels={2: "bob"}))
        assert (both.label(1), both.label(2), both.label(3)) == ("ann", "bob", f"{3:#018x}")
        assert dict(both.top(1).labels) == {2: "bob"}

    def test_different_units_do_not_add_up(self) -> None:
        with pytest.raises(InvalidArgument, match="cannot add bytes and rows"):
            Histogram.from_counts({1: 1}).merge(Histogram.from_counts({1: 1}, unit="bytes"))

    def test_scaling_fades_everything_alike(self) -> None:
        h = Histogram.from_counts({1: 8, 2: 4}, total=20, distinct=5, host_weights=[12, 8])
        faded = h.scaled(0.5)
        assert as_dict(faded) == {1: 4, 2: 2}
        assert (faded.total, faded.distinct) == (10, 5)
        assert faded.host_weights is not None
        assert faded.host_weights.tolist() == [6, 4]


def changed(**fields: Any) -> str:
    h = Histogram.from_counts({7: 2, 9: 5}, total=10, distinct=4, host_weights=[4, 6])
    return json.dumps(json.loads(h.to_json()) | fields)


class TestWritten:
    @given(keys=streams, hosts=st.none() | st.integers(1, 5), top=st.none() | st.integers(0, 5))
    def test_a_histogram_survives_the_round_trip(
        self, keys: Any, hosts: int | None, top: int | None
    ) -> None:
        h = Histogram.from_hashes(keys, top, hosts=hosts)
        h = Histogram.from_counts(
            (h.hashes, h.weights),
            total=h.total,
            distinct=h.distinct,
            unit="bytes",
            labels={key: f"user={key}" for key in h.hashes.tolist()[::2]},
            host_weights=h.host_weights,
        )
        back = Histogram.from_json(h.to_json())
        assert as_dict(back) == as_dict(h)
        assert (back.total, back.distinct, back.unit) == (h.total, h.distinct, "bytes")
        assert dict(back.labels) == dict(h.labels)
        assert (back.host_weights is None) == (hosts is None)
        if back.host_weights is not None and h.host_weights is not None:
            assert back.host_weights.tolist() == h.host_weights.tolist()

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "h.json is damaged"),
            (changed()[:-5], "h.json is damaged"),
            ("null", "h.json is damaged"),
            ("[]", "h.json is damaged"),
            ("{}", "h.json is damaged"),
            (changed(format="trimtab.plan"), "h.json holds 'trimtab.plan', not a histogram"),
            (changed(version=9), "h.json has version 9; .*upgrade Trimtab"),
            (changed(version=None), "h.json is damaged"),
            (changed(unit="euros"), "h.json is damaged: unit"),
            (changed(hashes=["7"]), "h.json is damaged"),
            (changed(hashes=["7", "7"]), "h.json is damaged: a key is twice"),
            (changed(hashes=["7", "-9"]), "h.json is damaged"),
            (changed(hashes=["7", 2**64]), "h.json is damaged"),
            (changed(weights=[1, -1]), "h.json is damaged: weights"),
            (changed(weights=[1, None]), "h.json is damaged"),
            (changed(weights=None), "h.json is damaged"),
            (changed(total="many"), "h.json is damaged"),
            (changed(distinct=None), "h.json is damaged"),
            (changed(labels=[1]), "h.json is damaged"),
            (changed(host_weights=[]), "h.json is damaged"),
            (changed(host_weights=3), "h.json is damaged"),
        ],
        ids=range(21),
    )
    def test_a_damaged_foreign_or_newer_file_is_refused_by_name(
        self, text: str, message: str
    ) -> None:
        with pytest.raises(CorruptState, match=message):
            Histogram.from_json(text, source="h.json")

    @given(
        field=st.sampled_from(["hashes", "weights", "total", "distinct", "labels", "version"]),
        value=st.recursive(
            st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(),
            lambda inner: st.lists(inner, max_size=4),
            max_leaves=6,
        ),
    )
    def test_damage_raises_one_kind_of_error_or_gives_a_sound_histogram(
        self, field: str, value: Any
    ) -> None:
        try:
            read = Histogram.from_json(changed(**{field: value}))
        except CorruptState:
            return
        assert read.total >= read.weights.sum() >= 0
        assert read.distinct >= len(read)
