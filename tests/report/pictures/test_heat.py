from __future__ import annotations

import numpy as np

from tests.report.runs import level, skewed
from trimtab.report.pictures.heat import heat


def test_heat_numbers_stand_only_on_hot_cells_of_small_maps() -> None:
    assert np.nanmax(skewed().heat()) == 2.0
    assert "1.25" in heat([skewed()]).caption


def test_words_tell_how_far_each_run_is_from_the_bound() -> None:
    words = heat([skewed(), level()]).words
    assert f"Spark's hash: {skewed().over_bound:.2f} times the bound" in words
    assert "Trimtab: 1.00 times the bound" in words
