from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

from trimtab import Plan
from trimtab.errors import InvalidArgument
from trimtab.spark.routing.compiled import (
    MOST_INLINE_KEYS,
    lane_text,
    lay_out,
    unsigned_mod,
    with_lane,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]

EDGES = [0, 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]


def hashes_with_heavy(plan: Plan, seed: int, count: int = 4000) -> np.ndarray:
    """Random words, edge cases, and every heavy key with its neighbours, which are not heavy."""
    rng = np.random.default_rng(seed)
    words = [rng.integers(0, 2**64, count, dtype=np.uint64), np.array(EDGES, dtype=np.uint64)]
    if len(plan):
        some = rng.choice(plan.keys, size=count)
        words += [plan.keys, plan.keys + np.uint64(1), plan.keys ^ np.uint64(1 << 40), some]
    return np.concatenate(words)


def frame(spark: SparkSession, hashes: np.ndarray, rows: np.ndarray) -> DataFrame:
    data = pd.DataFrame({"h": hashes.view(np.int64), "r": rows.view(np.int64)})
    return spark.createDataFrame(data, "h long, r long")


def random_plan(seed: int, lanes: int, keys: int, most: int, hosts: int | None) -> Plan:
    rng = np.random.default_rng(seed)
    heavy: dict[int, list[tuple[int, float]]] = {}
    for key in rng.integers(0, 2**64, keys, dtype=np.uint64).tolist():
        count = int(rng.integers(1, most + 1))
        shares = rng.dirichlet(np.full(count, 0.3)) + 1e-9
        shares /= shares.sum()
        to = rng.choice(lanes, size=count, replace=False)
        heavy[key] = list(zip(to.tolist(), shares.tolist(), strict=True))
    table = None if hosts is None else rng.integers(0, lanes, hosts)
    return Plan(lanes, heavy, table)


PLANS = [
    pytest.param(Plan(1), id="one lane"),
    pytest.param(Plan(16), id="plain hashing on a power of two"),
    pytest.param(Plan(7), id="plain hashing where 2^64 is no multiple of the lanes"),
    pytest.param(Plan(5, hosts=[4, 0, 3, 3, 1, 2, 0]), id="seven hosts on five lanes"),
    pytest.param(Plan(4, {2**63 + 5: 3}), id="one heavy key, negative as a long"),
    pytest.param(Plan(4, {0: 3, 2**64 - 1: 1}), id="the smallest and the largest hash"),
    pytest.param(Plan(3, {k << 40: k % 3 for k in range(1, 60)}), id="equal lower halves"),
    pytest.param(random_plan(1, 16, 64, 1, 1600), id="64 whole heavy keys, 1600 hosts"),
    pytest.param(random_plan(2, 16, 64, 16, 1600), id="heavy keys on up to all lanes"),
    pytest.param(Plan(50, {9: [(i, 0.02) for i in range(50)]}), id="one key on fifty lanes evenly"),
    pytest.param(
        Plan(300, {9: [(0, 0.9)] + [(i, 0.1 / 299) for i in range(1, 300)]}),
        id="many tiny fragments in one guide cell",
    ),
    pytest.param(random_plan(3, 8, MOST_INLINE_KEYS, 2, 64), id="as many keys as fit inline"),
    pytest.param(random_plan(4, 8, MOST_INLINE_KEYS + 1, 2, 101), id="one more: a broadcast join"),
]


@pytest.mark.parametrize("plan", PLANS)
def test_spark_gives_the_lane_that_the_plan_gives(spark: SparkSession, plan: Plan) -> None:
    hashes = hashes_with_heavy(plan, seed=len(plan))
    rows = np.random.default_rng(5).integers(0, 2**64, hashes.size, dtype=np.uint64)
    if plan.cuts.size:
        # Points on both sides of every cut, for keys that are split there.
        rows[: plan.cuts.size] = ((plan.cuts - np.uint64(1)) << np.uint64(32))[: hashes.size]
        hashes[: plan.cuts.size] = np.repeat(plan.keys, np.diff(plan.starts))[: hashes.size]
    df = frame(spark, hashes, rows)
    routed = with_lane(df, plan, "lane", F.col("h"), F.col("r")).toPandas()
    expected = plan.route(
        routed["h"].to_numpy().view(np.uint64), routed["r"].to_numpy().view(np.uint64)
    )
    assert len(routed) == hashes.size
    assert routed.columns.tolist() == ["h", "r", "lane"]
    np.testing.assert_array_equal(routed["lane"].to_numpy(), expected)


@pytest.mark.smoke
def test_rows_land_on_the_partition_of_their_lane(spark: SparkSession) -> None:
    plan = random_plan(7, 6, 20, 3, 60)
    hashes = hashes_with_heavy(plan, seed=3)
    df = frame(spark, hashes, hashes[::-1].copy())
    lane = F.expr(lane_text(plan, "h", "r"))
    placed = lay_out(df, 6, lane).select("*", F.spark_partition_id().alias("at")).toPandas()
    expected = plan.route(placed["h"].to_numpy(), placed["r"].to_numpy())
    np.testing.assert_array_equal(placed["at"].to_numpy(), expected)


@pytest.mark.parametrize("modulus", [1, 2, 3, 7, 100, 1600, 4096, 2**20 - 1])
def test_unsigned_mod_of_signed_longs(spark: SparkSession, modulus: int) -> None:
    hashes = np.array([*EDGES, 2**63 + 12345, 2**64 - modulus], dtype=object) % 2**64
    words = np.array(hashes, dtype=np.uint64)
    found = frame(spark, words, words).select(F.expr(unsigned_mod("h", modulus)).alias("m"))
    assert [row.m for row in found.collect()] == (words % np.uint64(modulus)).tolist()


def test_a_splitting_plan_asks_for_the_row_hash(spark: SparkSession) -> None:
    plan = Plan(2, {1: [(0, 0.5), (1, 0.5)]})
    with pytest.raises(InvalidArgument, match="splits keys; give the hash of the row"):
        lane_text(plan, "1L")


def test_a_large_plan_is_refused_as_one_expression(spark: SparkSession) -> None:
    with pytest.raises(InvalidArgument, match="use with_lane"):
        lane_text(Plan(2, dict.fromkeys(range(1001), 0)), "1L")
