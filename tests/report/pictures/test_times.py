from __future__ import annotations

import pytest

from tests.report.runs import batch, level, skewed
from trimtab.errors import InvalidArgument
from trimtab.report import Run
from trimtab.report.pictures.times import times


def test_times_need_timed_batches() -> None:
    with pytest.raises(InvalidArgument, match="timed"):
        times([Run("x", [batch(0, [1, 1])])], [1.0])


def test_words_tell_the_time_of_each_run_and_the_least_possible() -> None:
    words = times([skewed(), level()], [1.5, 2.0, 2.0]).words
    assert words == (
        "Time of each batch. Spark's hash 10.0 s in all; Trimtab 5.5 s in all; lower bound 5.5 s."
    )
