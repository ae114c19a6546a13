from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.cluster import stage
from trimtab.errors import InvalidArgument
from trimtab.simulate.stages import StageCosts, stage_seconds


@given(st.lists(st.floats(0.0, 9.0), max_size=20), st.integers(1, 5))
def test_a_stage_equals_the_twin(tasks: list[float], cores: int) -> None:
    assert stage_seconds(np.array(tasks), cores) == pytest.approx(stage(tasks, cores))


def test_costs_below_zero_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="map_row"):
        StageCosts(map_row=-1.0)
