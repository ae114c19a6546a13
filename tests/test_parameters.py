"""Ranges in words, and the sentences of those that say no."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.described import inside, outside
from trimtab._parameters import Allowed, OneOf, OnePerLane, OrNone, Real, Whole, YesNo
from trimtab.errors import InvalidArgument

RANGES: dict[str, tuple[Allowed[Any], str]] = {
    "whole numbers": (Whole(0), "0 or more"),
    "whole numbers up to one": (Whole(1, 64), "1..64"),
    "up to a power": (Whole(1, 1 << 30), "1..2^30"),
    "up to a word": (Whole(0, (1 << 64) - 1), "0..2^64 - 1"),
    "so many for all lanes": (Whole(1, together=1 << 24), "1 or more; x lanes at most 2^24"),
    "numbers": (Real(0), "0 or more"),
    "numbers above": (Real(0, low_open=True), "above 0"),
    "a closed interval": (Real(0.0001, 1000), "in [0.0001, 1000]"),
    "an open interval": (Real(0, 1, low_open=True, high_open=True), "in (0, 1)"),
    "words": (OneOf(("exact", "hll")), "'exact' or 'hll'"),
    "yes or no": (YesNo(), "True or False"),
    "one per lane": (OnePerLane(), "one positive number per lane, or None"),
    "or nothing": (OrNone(Whole(1, 9), "it is guessed"), "1..9; None: it is guessed"),
}

each_range = pytest.mark.parametrize(("allowed", "words"), RANGES.values(), ids=RANGES)


@each_range
def test_a_range_is_said_in_words(allowed: Allowed[Any], words: str) -> None:
    assert str(allowed) == words


@each_range
@pytest.mark.parametrize("lanes", [1, 4, 1000])
def test_a_range_takes_its_ends_and_refuses_what_is_beyond(
    allowed: Allowed[Any], words: str, lanes: int
) -> None:
    for value in inside(allowed, lanes):
        kept = allowed.check("it", value, lanes)
        assert isinstance(kept, np.ndarray) or kept == value
    for value in outside(allowed, lanes):
        with pytest.raises(InvalidArgument, match=r"^it (x lanes )?must be"):
            allowed.check("it", value, lanes)


def test_speeds_are_scaled_to_a_mean_of_one() -> None:
    assert OnePerLane().check("speeds", [1, 2, 3], 3).tolist() == [0.5, 1.0, 1.5]
    assert OnePerLane().check("speeds", None, 2).tolist() == [1.0, 1.0]


def test_a_range_that_depends_on_the_lanes_says_what_is_left() -> None:
    with pytest.raises(
        InvalidArgument,
        match=r"points x lanes must be at most 2\^24, so points must be at most 4 for 4194304 lane",
    ):
        Whole(1, together=1 << 24).check("points", 5, 1 << 22)


@pytest.mark.parametrize("value", [np.True_, True])
def test_numpys_truth_is_true(value: object) -> None:
    assert YesNo().check("split", value, 1) is True
