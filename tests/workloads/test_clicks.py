from __future__ import annotations

import numpy as np
import pytest

from trimtab.errors import InvalidArgument
from trimtab.workloads.clicks import Clicks
from trimtab.workloads.zipf import zipf_shares


def test_every_batch_has_the_same_law_whoever_is_popular() -> None:
    clicks = Clicks(pages=300, z=1.2, drift_every=2)
    for batch in (0, 1, 2, 9):
        shares = np.sort(clicks.shares(batch))[::-1]
        np.testing.assert_allclose(shares, zipf_shares(300, 1.2))


def test_the_most_popular_page_changes_at_each_drift_and_not_between() -> None:
    clicks = Clicks(pages=300, drift_every=3, seed=5)
    top = [int(clicks.shares(batch).argmax()) for batch in range(9)]
    assert top[0] == top[1] == top[2] != top[3] == top[4] == top[5] != top[6]


def test_as_many_popular_pages_change_as_asked() -> None:
    clicks = Clicks(pages=1000, drift_every=1, top=8, movers=3, seed=2)
    before, after = (set(clicks.shares(batch).argsort()[-8:].tolist()) for batch in (0, 1))
    assert len(before - after) == 3


def test_nothing_changes_without_movers() -> None:
    clicks = Clicks(pages=100, drift_every=1, movers=0)
    assert (clicks.shares(0) == clicks.shares(7)).all()


def test_a_batch_can_be_drawn_again_and_follows_its_shares() -> None:
    clicks = Clicks(pages=50, z=1.0, seed=3)
    first = clicks.batch(4, 20_000)
    assert (first == clicks.batch(4, 20_000)).all()
    assert (first != clicks.batch(5, 20_000)).any()
    drawn = np.bincount(first, minlength=50) / first.size
    # Five standard deviations of the most popular page's share.
    assert np.abs(drawn - clicks.shares(4)).max() < 5 * np.sqrt(0.25 / first.size)


def test_names_are_one_per_page() -> None:
    clicks = Clicks(pages=700)
    names = clicks.names(np.arange(700))
    assert len(set(names.tolist())) == 700
    assert names[0] == "/shop/amber-anchor"


@pytest.mark.parametrize(
    "parameters",
    [{"pages": 1}, {"z": -1.0}, {"drift_every": 0}, {"top": 0}, {"movers": 9}, {"seed": -1}],
    ids=str,
)
def test_bad_parameters_are_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument):
        Clicks(**parameters)  # type: ignore[arg-type]
