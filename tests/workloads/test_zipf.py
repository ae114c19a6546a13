"""The generators give back the law they were asked for."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.errors import InvalidArgument
from trimtab.workloads import drifting_zipf, zipf_ids, zipf_shares


@pytest.mark.parametrize("z", [0.5, 1.0, 1.5])
def test_the_exponent_comes_back_from_the_counts(z: float) -> None:
    ids = zipf_ids(1_000_000, 10_000, z, seed=3)
    counts = np.sort(np.bincount(ids, minlength=10_000))[::-1][:50]
    slope = np.polyfit(np.log(np.arange(1, 51)), np.log(counts), 1)[0]
    # The least frequent of the 50 has hundreds of tuples: its logarithm is known to about 5 %,
    # the slope through 50 points far better.
    assert slope == pytest.approx(-z, abs=0.05)


def test_shares_add_up_and_fall() -> None:
    shares = zipf_shares(1000, 1.2)
    assert shares.sum() == pytest.approx(1.0)
    assert (np.diff(shares) < 0).all()


def test_the_same_seed_gives_the_same_stream_and_another_seed_another() -> None:
    assert np.array_equal(zipf_ids(1000, 100, 1.0, 5), zipf_ids(1000, 100, 1.0, 5))
    assert not np.array_equal(zipf_ids(1000, 100, 1.0, 5), zipf_ids(1000, 100, 1.0, 6))


def test_ranks_are_dealt_anew_at_every_change() -> None:
    ids = drifting_zipf(30_000, 500, 1.5, every=10_000, seed=1)
    tops = {int(np.bincount(ids[a : a + 10_000]).argmax()) for a in (0, 10_000, 20_000)}
    assert len(tops) == 3


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((-1, 10, 1.0), "tuples"), ((10, 0, 1.0), "keys"), ((10, 10, -0.1), "z")],
)
def test_bad_parameters_are_named(arguments: tuple[int, int, float], name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{name} must be"):
        zipf_ids(*arguments)
