"""What windows keep between batches: it needs no Spark session."""

from __future__ import annotations

from trimtab.spark.stream.windows.panes import Windows
from trimtab.spark.stream.windows.segments import (
    COMPACT_AFTER,
    CarriedWindow,
    Segment,
    WindowsKept,
    all_carried,
    compacted,
    pays_to_carry,
)


def small(count: int, carried: bool) -> list[Segment]:
    return [Segment(f"{n}{carried}", n, n + 5, 1, carried=carried) for n in range(count)]


def test_many_small_segments_become_one_that_spans_them() -> None:
    live, made_of = compacted(small(COMPACT_AFTER, False), "merged")
    assert made_of == small(COMPACT_AFTER, False)
    assert live == [Segment("merged", 0, COMPACT_AFTER + 4, COMPACT_AFTER, whole=True)]
    assert compacted(live, "again") == (live, [])


def test_panes_that_are_in_the_carried_result_are_not_merged_with_others() -> None:
    apart = [*small(COMPACT_AFTER - 1, True), *small(COMPACT_AFTER - 1, False)]
    assert compacted(apart, "merged") == (apart, [])
    mixed = [*apart, Segment("one more", 7, 7, carried=True)]
    live, made_of = compacted(mixed, "merged")
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
    kept = WindowsKept(7, (Segment("a", 1, 2, whole=True),), 0.5, 3, CarriedWindow("b", 4))
    assert WindowsKept.restore(kept.state()) == kept
    older = {"watermark": 7, "segments": [{"name": "a", "first": 1, "last": 2, "batches": 1}]}
    assert WindowsKept.restore({**older, "source_share": 0.5, "heavy_from": 3}) == WindowsKept(
        7, (Segment("a", 1, 2),), 0.5, 3
    )
