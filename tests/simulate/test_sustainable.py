from __future__ import annotations

import pytest

from trimtab.errors import InvalidArgument
from trimtab.simulate import highest_rate


@pytest.mark.parametrize("limit", [0.013, 7.0, 123_456.0])
def test_the_limit_is_found_from_below_and_from_above(limit: float) -> None:
    found = highest_rate(lambda rate: rate <= limit, start=10.0, within=1e-4)
    assert found == pytest.approx(limit, rel=2e-4)
    assert found <= limit


def test_no_rate_at_all() -> None:
    assert highest_rate(lambda rate: False, start=1.0) == 0.0


def test_no_limit_at_all_is_a_mistake() -> None:
    with pytest.raises(InvalidArgument, match="any rate"):
        highest_rate(lambda rate: True, start=1.0, most=100.0)
