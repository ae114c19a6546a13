"""The arithmetic of durations, windows and watermarks: it needs no Spark session."""

from __future__ import annotations

from datetime import timedelta

import pytest

from trimtab.errors import InvalidArgument
from trimtab.spark.stream.windows.panes import Windows, microseconds


@pytest.mark.parametrize(
    ("given", "micros"),
    [
        ("60 seconds", 60_000_000),
        ("1 Second", 1_000_000),
        ("interval 2 minutes", 120_000_000),
        ("1 hour 30 minutes", 5_400_000_000),
        (timedelta(milliseconds=250), 250_000),
        ("2 weeks", 14 * 86_400_000_000),
    ],
)
def test_durations_are_read_as_spark_reads_them(given: object, micros: int) -> None:
    assert microseconds(given, "window") == micros


@pytest.mark.parametrize("given", ["", "60", "seconds", "1 month", "-5 seconds", 60, None])
def test_other_durations_are_refused(given: object) -> None:
    with pytest.raises(InvalidArgument, match="window must be a duration"):
        microseconds(given, "window")


def test_windows_that_lose_rows_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="slide must not be longer than window"):
        Windows.of("10 seconds", "11 seconds", "0 seconds")
    with pytest.raises(InvalidArgument, match="longer than 0"):
        Windows.of("0 seconds", None, "0 seconds")


def test_windows_longer_than_all_times_are_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"9,999 years.*got '99999999 weeks'"):
        Windows.of("99999999 weeks", None, None)


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("-1 second", 9_000_000),
        ("-1 second 250 milliseconds", 9_250_000),
        (timedelta(seconds=-3), 7_000_000),
        ("3 seconds", 3_000_000),
    ],
)
def test_windows_may_start_before_1970_as_in_spark(given: object, origin: int) -> None:
    assert Windows.of("20 seconds", "10 seconds", None, given).origin == origin


def test_windows_start_within_a_slide_of_1970() -> None:
    for given in ("10 seconds", "-10 seconds"):
        with pytest.raises(InvalidArgument, match="start_time must be shorter than the slide"):
            Windows.of("20 seconds", "10 seconds", None, given)


@pytest.mark.parametrize("windows", [Windows(10, 10, 0), Windows(10, 4, 0), Windows(12, 3, 0)])
def test_closing_windows_are_those_that_end_between_two_watermarks(windows: Windows) -> None:
    for before in range(-30, 30):
        for after in range(before, 40):
            first, last = windows.closing(before, after)
            starts = list(range(first, last + 1, windows.slide))
            every = range(-60 // windows.slide * windows.slide, 60, windows.slide)
            assert starts == [s for s in every if before < s + windows.window <= after]
    for pane in range(-20, 20, windows.pane):
        ends = [s + windows.window for s in every if s <= pane < s + windows.window]
        over = [max(ends) <= w for w in range(-30, 40)]
        assert [pane < windows.first_in_time(w) for w in range(-30, 40)] == over


def test_the_watermark_is_sparks_own() -> None:
    windows = Windows.of("10 seconds", None, "3 seconds")
    assert windows.advanced(0, None) == 0
    assert windows.advanced(0, 10_000_999) == 7_000_000
    assert windows.advanced(8_000_000, 10_000_999) == 8_000_000
