from __future__ import annotations

import numpy as np
import pytest

from tests.report.runs import batch, level, skewed
from trimtab.errors import InvalidArgument
from trimtab.report import BatchFigures, Run


def test_ratios_are_averages_weighted_by_the_batches() -> None:
    run = skewed()
    assert [b.max_over_mean for b in run.batches] == [2.0, 2.0, 1.5]
    assert run.max_over_mean == pytest.approx((2.0 * 60 + 2.0 * 80 + 1.5 * 80) / 220)
    assert level().over_bound == 1.0


def test_seconds_and_replication_are_known_only_if_every_batch_was_measured() -> None:
    assert skewed().seconds == 10.0
    mixed = Run("mixed", [batch(0, [1, 1], seconds=1.0), batch(1, [1, 1])])
    assert mixed.seconds is None
    assert mixed.replication is None


def test_a_run_without_batches_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="no batches"):
        Run("empty", [])


def test_heat_is_in_multiples_of_the_bound_and_leaves_out_lanes_that_were_not() -> None:
    run = Run("scaled", [batch(0, [3, 1]), batch(1, [2, 2, 2, 2])])
    heat = run.heat()
    assert heat.shape == (4, 2)
    assert heat[:, 0].tolist()[:2] == [1.5, 0.5]
    assert np.isnan(heat[2:, 0]).all()
    assert heat[:, 1].tolist() == [1, 1, 1, 1]


def test_hottest_keys_are_chosen_by_peak_and_listed_by_appearance() -> None:
    keys = skewed().hottest_keys(2)
    assert [name for name, _ in keys] == ["/a", "/c"]
    assert keys[0][1].tolist()[:2] == [0.5, 0.125]
    assert np.isnan(keys[0][1][2])


def test_the_typical_batch_is_the_median() -> None:
    ratios = [3.0, 1.0, 2.0]
    run = Run("x", [batch(i, [ratio, 1, 1, 1]) for i, ratio in enumerate(ratios)])
    assert run.typical() == 2


def test_a_batch_without_rows_counts_as_level() -> None:
    empty = batch(0, [0, 0, 0])
    assert (empty.max_over_mean, empty.over_bound) == (1.0, 1.0)
    assert Run("quiet", [empty]).heat().tolist() == [[0], [0], [0]]


@pytest.mark.parametrize(
    ("splits_keys", "bound"),
    [
        pytest.param(False, 3.0, id="the heaviest key is the floor where keys are whole"),
        pytest.param(True, 2.0, id="the mean lane is the floor where keys may be split"),
    ],
)
def test_a_batch_in_memory(splits_keys: bool, bound: float) -> None:
    hashes = np.array([7, 7, 7, 8], dtype=np.uint64)
    made = BatchFigures.of_lanes(
        3, hashes, [0, 0, 1, 1], 2, splits_keys=splits_keys, labels={7: "seven"}, top=1
    )
    assert made.loads.tolist() == [2, 2]
    assert made.bound == bound
    assert made.hottest == (("seven", 3.0),)
    assert (made.distinct, made.replication, made.total) == (2, 1.5, 4.0)
