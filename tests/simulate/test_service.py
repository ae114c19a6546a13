from __future__ import annotations

import numpy as np
import pytest

from trimtab.errors import InvalidArgument
from trimtab.simulate import Service

KEYS = np.arange(200_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


@pytest.mark.parametrize(
    ("service", "spread"),
    [
        (Service(0.5), 0.0),
        (Service(0.5, "exponential", seed=3), 1.0),
        # A Pareto law of exponent a > 2 has the coefficient of variation 1 / sqrt(a (a - 2)).
        (Service(0.5, "pareto", tail=4.0, by_key=True), 8**-0.5),
    ],
    ids=["constant", "drawn", "by key"],
)
def test_times_have_the_mean_and_the_spread_of_their_law(service: Service, spread: float) -> None:
    times = service.times(KEYS)
    assert times.mean() == pytest.approx(0.5, rel=0.01)
    assert times.std() / times.mean() == pytest.approx(spread, abs=0.03)


def test_draws_go_by_position_and_by_key() -> None:
    drawn = Service(1.0, "exponential", seed=1)
    assert drawn.times(KEYS[:10]).tolist()[5:] == drawn.times(KEYS[:5], first=5).tolist()
    by_key = Service(1.0, "exponential", by_key=True)
    assert by_key.times(KEYS[:10]).tolist()[5:] == by_key.times(KEYS[5:10]).tolist()


@pytest.mark.parametrize(
    "wrong", [{"seconds": 0.0}, {"law": "normal"}, {"tail": 1.0}, {"by_key": 1}], ids=str
)
def test_mistakes_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        Service(**wrong)  # type: ignore[arg-type]
