"""What windows keep between batches: it needs no Spark session."""

from __future__ import annotations

import json

import pytest

from trimtab.spark.stream.windows.panes import Windows
from trimtab.spark.stream.windows.segments import (
    COMPACT_AFTER,
    LONGEST_PART,
    CarriedWindow,
    Condensed,
    Segment,
    WindowsKept,
    all_carried,
    compacted,
    pays_to_carry,
)


def small(count: int, carried: bool) -> list[Segment]:
    return [Segment(f"{n}{carried}", n, n + 5, 1, carried=carried) for n in range(count)]


def test_many_small_segments_become_one_that_spans_them() -> None:
    live, made_of = compacted(small(COMPACT_AFTER, False), "merged", 1000)
    assert made_of == small(COMPACT_AFTER, False)
    assert live == [Segment("merged", 0, COMPACT_AFTER + 4, COMPACT_AFTER, whole=True)]
    assert compacted(live, "again", 1000) == (live, [])


@pytest.mark.parametrize("window", [360, 2_160, 21_600], ids=["an hour", "six", "sixty"])
def test_the_number_of_segments_hardly_grows_with_the_window(window: int) -> None:
    live: list[Segment] = []
    most = rewritten = 0
    for batch in range(2 * window):
        live = [*(s for s in live if s.last >= batch - window), Segment(str(batch), batch, batch)]
        live, small = compacted(live, f"{batch} merged", window // LONGEST_PART)
        rewritten += sum(s.last - s.first + 1 for s in small)
        most = max(most, len(live))
    # Up to 64 segments that may not be merged any more, and less than 16 of each level below.
    assert most <= 64 + 3 * COMPACT_AFTER
    # What is over is deleted: at most a quarter of a window more than what is needed stays.
    assert (
        min(s.first for s in live) >= 2 * window - window - window // LONGEST_PART - COMPACT_AFTER
    )
    assert rewritten <= 3 * 2 * window


def test_panes_that_are_in_the_carried_result_are_not_merged_with_others() -> None:
    apart = [*small(COMPACT_AFTER - 1, True), *small(COMPACT_AFTER - 1, False)]
    assert compacted(apart, "merged", 1000) == (apart, [])
    mixed = [*apart, Segment("one more", 7, 7, carried=True)]
    live, made_of = compacted(mixed, "merged", 1000)
    assert all(segment.carried for segment in made_of)
    assert live[-1].carried
    assert len(live) == COMPACT_AFTER
    assert all(segment.carried for segment in all_carried(mixed))


def test_a_result_is_carried_on_where_little_of_a_window_closes_at_once() -> None:
    minute, hour = Windows(60, 10, 0), Windows(3600, 10, 0)
    assert not pays_to_carry(minute, 0, 0)
    assert pays_to_carry(hour, 0, 0)
    assert not pays_to_carry(hour, 0, 1800)


def test_what_is_kept_comes_back_from_its_state_and_from_one_that_knew_less() -> None:
    condensed = (Condensed("c", 1, 2, 1, ("a",)),)
    carried = CarriedWindow("b", 4)
    kept = WindowsKept(7, (Segment("a", 1, 2, split=(5, -7)),), 0.5, 3, carried, condensed)
    assert WindowsKept.restore(json.loads(json.dumps(kept.state()))) == kept
    older = {"watermark": 7, "segments": [{"name": "a", "first": 1, "last": 2, "batches": 1}]}
    assert WindowsKept.restore({**older, "source_share": 0.5, "heavy_from": 3}) == WindowsKept(
        7, (Segment("a", 1, 2),), 0.5, 3
    )
