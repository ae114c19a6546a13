from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from trimtab import Histogram
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.sketches import ExactCounts, HistogramHistory


def weights(histogram: Histogram) -> dict[int, float]:
    return dict(zip(histogram.hashes.tolist(), histogram.weights.tolist(), strict=True))


def filled(fade: float = 0.5, length: int = 3) -> HistogramHistory:
    history = HistogramHistory(length, fade)
    for batch in ({1: 80.0, 2: 20.0}, {1: 40.0, 2: 60.0}, {2: 90.0, 3: 10.0}):
        history.add(Histogram.from_counts(batch))
    return history


def test_the_blend_is_the_faded_mean() -> None:
    blend = weights(filled().blend())
    assert blend[1] == pytest.approx((80 / 4 + 40 / 2 + 0) / 1.75)
    assert blend[2] == pytest.approx((20 / 4 + 60 / 2 + 90) / 1.75)
    assert blend[3] == pytest.approx(10 / 1.75)
    assert filled().blend().total == pytest.approx(100)


def test_without_fading_all_batches_have_the_same_say() -> None:
    assert weights(filled(fade=1.0).blend())[1] == pytest.approx(40)


def test_only_the_last_ones_are_kept() -> None:
    history = filled(length=2)
    assert len(history) == 2
    assert [weights(part) for part in history] == [{2: 60.0, 1: 40.0}, {2: 90.0, 3: 10.0}]


def test_the_blend_can_be_cut_to_its_heaviest_keys() -> None:
    assert filled().blend(top=1).hashes.tolist() == [2]


def test_an_empty_history_has_no_blend() -> None:
    with pytest.raises(InvalidArgument, match="history is empty"):
        HistogramHistory().blend()


def test_a_sketch_must_be_made_a_histogram_first() -> None:
    with pytest.raises(InvalidArgument, match="from_sketch"):
        HistogramHistory().add(ExactCounts())  # type: ignore[arg-type]


def test_a_restored_history_gives_the_same_blend() -> None:
    history = filled()
    other = HistogramHistory.restore(json.loads(json.dumps(history.state())))
    assert weights(other.blend()) == weights(history.blend())
    assert (other.length, other.fade) == (3, 0.5)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda s: None, id="nothing"),
        pytest.param(lambda s: s | {"format": "trimtab.sketch"}, id="a sketch"),
        pytest.param(lambda s: s | {"version": 2}, id="a newer version"),
        pytest.param(lambda s: s | {"fade": 0}, id="a fade of zero"),
        pytest.param(lambda s: s | {"histograms": ["{}"]}, id="a damaged histogram"),
        pytest.param(lambda s: {k: v for k, v in s.items() if k != "length"}, id="no length"),
    ],
)
def test_foreign_or_damaged_state_is_refused(damage: Callable[[dict[str, Any]], Any]) -> None:
    with pytest.raises(CorruptState):
        HistogramHistory.restore(damage(filled().state()))
