"""Whatever keys, times and names a frame has, every operator gives what Spark gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.hostile.cases import kinds_of
from tests.spark.hostile.keys import KEYS
from tests.spark.hostile.trials import Tally, try_case, turn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SEED = 1

SMOKE = 19
"""A case with texts and a second key."""

SMOKE_OPERATORS = [
    "agg by pkg",
    "groups_in_pandas",
    "full join",
    "written",
    "profiled",
    "stream_of_windows",
    "stream_of_top",
]
"""One for every road that a key takes."""

OPERATORS_EACH = 2
"""Of the operators so many for each type, all of them in turn; some two minutes in all."""


def test_hostile_texts_go_every_road(spark: SparkSession, tmp_path: Path) -> None:
    tally = Tally()
    try_case(spark, SEED, SMOKE, 120, tmp_path, tally, SMOKE_OPERATORS)
    assert tally.wrong == []
    assert tally.equal >= 5, tally


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(len(KEYS)), ids=list(KEYS))
def test_every_type_of_key(number: int, spark: SparkSession, tmp_path: Path) -> None:
    assert kinds_of(SEED, number)[0] == list(KEYS)[number]
    tally = Tally()
    try_case(spark, SEED, number, 1000, tmp_path, tally, turn(number, OPERATORS_EACH))
    assert tally.wrong == []
