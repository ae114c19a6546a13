"""Hot keys of a join in pieces: Spark's own join for the rest, and the same rows as without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.batch.test_join import frame, rows
from tests.spark.frames import layouts
from trimtab.spark.batch import hot_pieces
from trimtab.spark.batch.join import explain_join, join

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module")
def sides(spark: SparkSession) -> Iterator[tuple[DataFrame, DataFrame]]:
    left = ["L"] * 300 + ["R"] * 3 + ["B"] * 60 + [None] * 40 + [f"k{i}" for i in range(60)]
    right = ["L"] * 2 + ["R"] * 300 + ["B"] * 60 + [None] * 30 + [f"k{i}" for i in range(30, 90)]
    before = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    yield frame(spark, left, "a").cache(), frame(spark, right, "b").cache()
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", before or "10MB")


@pytest.fixture
def at_any_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_pieces, "LONG", 0.0)
    monkeypatch.setattr(hot_pieces, "PRICE", 0.0)
    monkeypatch.setattr(hot_pieces, "cores_of", lambda _: 4)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_rows_equal_those_of_sparks_own_join(
    sides: tuple[DataFrame, DataFrame], how: str, at_any_price: None
) -> None:
    left, right = sides
    ours, theirs = join(left, right, "k", how), left.join(right, "k", how)
    assert ours.columns == theirs.columns
    assert rows(ours) == rows(theirs)
    # All moves are Spark's own: AQE may change them.
    assert layouts(ours) == 0
    words = explain_join(left, right, "k", how)
    assert ("but for hot keys" in words) == (how != "full"), words
    by_condition = join(left, right, left.k == right.k, how)
    assert rows(by_condition) == rows(left.join(right, left.k == right.k, how))


def test_a_join_that_sends_one_side_to_every_task_is_sparks_own(
    spark: SparkSession, sides: tuple[DataFrame, DataFrame], at_any_price: None
) -> None:
    left, _ = sides
    small = spark.range(3).selectExpr("cast(id AS string) AS k").hint("broadcast")
    assert "to every task" in explain_join(left, small, "k")
    assert join(left, small, "k").sameSemantics(left.join(small, "k"))


def test_a_short_join_is_not_looked_at(sides: tuple[DataFrame, DataFrame]) -> None:
    left, right = sides
    assert "from 3 s on" in explain_join(left, right, "k")
    assert join(left, right, "k").sameSemantics(left.join(right, "k"))
