"""The report: who is hot, what it costs, what would help."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from trimtab.errors import TrimtabError
from trimtab.spark import Unbalanced, assert_balanced, explain_repartition, group_by
from trimtab.spark.batch.profile import profile
from trimtab.spark.session_facts import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from trimtab.spark.batch.skew_report import SkewReport

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module")
def clicks(spark: SparkSession) -> DataFrame:
    hot = F.when(F.col("id") % 2 == 0, F.lit("<hot>")).otherwise((F.col("id") % 999).cast("string"))
    return spark.range(0, 8000, numPartitions=3).select(
        hot.alias("user"), F.when(F.col("id") % 9 > 0, F.col("id") % 9).alias("page"), "id"
    )


@pytest.fixture(scope="module")
def report(clicks: DataFrame) -> SkewReport:
    return profile(clicks, "user", lanes=8)


@pytest.mark.smoke
def test_the_hottest_key_is_named_with_its_share(report: SkewReport) -> None:
    assert (report.hottest[0].key, report.hottest[0].rows) == ("<hot>", 4000)
    assert report.hottest[0].share == 0.5
    assert report.exact
    assert report.histogram.distinct == 1000


@pytest.mark.smoke
def test_costs_are_those_of_sparks_hash(report: SkewReport, clicks: DataFrame) -> None:
    placed = clicks.repartition(8, "user").groupBy(F.spark_partition_id()).count().collect()
    largest = max(row["count"] for row in placed)
    assert report.max_over_mean == largest / 1000
    assert report.lower_bound == 4000
    assert report.best_whole_ratio == 4.0


def test_all_figures_of_the_hash_agree(report: SkewReport) -> None:
    by_hash, best = report.advice["hash"], report.advice[report.advice.recommended]
    assert by_hash.max_over_mean == pytest.approx(report.max_over_mean)
    longer = report.max_over_mean / best.max_over_mean
    assert f"a hash takes {longer:.3g} times as long" in report.advice.reason
    assert "Murmur3" in str(report)
    assert " s " not in report.advice.reason


def test_the_advice_covers_all_partitioners(report: SkewReport) -> None:
    names = {row.name for row in report.advice.table}
    assert {"hash", "trim", "kip", "prompt", "pkg"} <= names
    assert report.advice.recommended in names


def test_the_text_says_it_all(report: SkewReport) -> None:
    text = str(report)
    for part in ("skew of user on 8 lanes", "<hot>", "50.00%", "max/mean", "recommended", "trim"):
        assert part in text


def test_html_is_escaped(report: SkewReport) -> None:
    html = report._repr_html_()
    assert "&lt;hot&gt;" in html
    assert "<hot>" not in html
    assert html.count("<table>") == html.count("</table>") == 3


def test_the_dictionary_is_json(report: SkewReport) -> None:
    data = json.loads(json.dumps(report.to_dict()))
    assert data["hottest"][0]["key"] == "<hot>"
    assert int(data["hottest"][0]["hash"]) == report.hottest[0].hash
    assert len(data["spark_loads"]) == 8


def test_pandas(report: SkewReport) -> None:
    frame = report.to_pandas()
    assert frame.columns.tolist() == ["key", "hash", "rows", "weight", "share"]
    assert len(frame) == 20
    assert frame["rows"].is_monotonic_decreasing


def test_the_picture_has_a_bar_per_lane(report: SkewReport) -> None:
    lanes, keys = report.picture().axes
    assert len(lanes.patches) == 8
    assert len(keys.patches) == 10


def test_several_columns_and_nulls(clicks: DataFrame) -> None:
    found = profile(clicks, ["user", "page"], lanes=4, top=3)
    assert found.key == ("user", "page")
    assert found.hottest[0].key.startswith("<hot>, ")
    labels = {hot.key for hot in profile(clicks, "page", lanes=4).hottest}
    assert "null" in labels


def test_weights(clicks: DataFrame) -> None:
    found = profile(clicks, "user", lanes=4, weight="id", unit="seconds")
    assert found.histogram.total == sum(range(8000))
    assert "seconds" in str(found)


@pytest.mark.parametrize(
    "rows", [pytest.param([], id="no rows"), pytest.param([(None,)] * 3, id="only nulls")]
)
def test_frames_with_nothing_in_them(spark: SparkSession, rows: list[tuple[None]]) -> None:
    found = profile(spark.createDataFrame(rows, "k string"), "k", lanes=4)
    assert found.rows == len(rows)
    assert str(found)
    assert found._repr_html_()
    assert found.picture().axes
    assert len(found.to_pandas()) == min(len(rows), 1)


def test_bytes_that_are_no_characters_have_a_name(spark: SparkSession) -> None:
    keys = spark.sql("select X'FFFE61' as k from range(3)")
    for key in ("k", F.col("k").cast("string").alias("text")):
        found = profile(keys, key, lanes=2)
        assert (found.hottest[0].key, found.rows) == ("\ufffd\ufffda", 3)


def test_mistakes_are_one_sentence(clicks: DataFrame) -> None:
    for arguments, message in [
        ({"key": "nope"}, "no column 'nope'"),
        ({"key": "user", "lanes": 0}, "lanes must be"),
        ({"key": "user", "weight": "nope"}, "no column 'nope'"),
        ({"key": "user", "weight": "user"}, "weight must be a column of numbers"),
        ({"key": "user", "unit": "parsecs"}, "unit must be"),
        ({"key": "user", "top": -1}, "top must be"),
        ({"key": "user", "names": "none"}, "names must be"),
    ]:
        with pytest.raises(TrimtabError, match=message):
            profile(clicks, **{"lanes": 4, **arguments})


def test_hot_keys_can_be_kept_out_of_all_that_is_shown(clicks: DataFrame) -> None:
    found = profile(clicks, "user", lanes=4, names="hash")
    hot = found.hottest[0]
    assert (hot.key, hot.share) == (f"{hot.hash:#018x}", 0.5)
    assert not found.histogram.labels
    plain = profile(clicks, "user", lanes=4)
    known = {"histogram": plain.histogram, "lanes": 4}
    grouped = group_by(clicks, "user", partitioner="kip", **known)
    pairs = grouped.cogroup(group_by(clicks, "user", lanes=4))
    shown = [
        lambda **options: grouped.explain(**options),
        lambda **options: grouped.explain(F.collect_list("id"), **options),
        lambda **options: pairs.explain(**options),
        lambda **options: explain_repartition(clicks, key="user", **known, **options),
    ]
    for explain in shown:
        assert "hot>" in explain()
        assert "hot>" not in explain(names="hash")
    texts = [str(found), json.dumps(found.to_dict()), found._repr_html_()]
    assert not any("hot>" in text or "hot&gt;" in text for text in texts)
    with pytest.raises(Unbalanced, match=r"more than 1\.5; '0x"):
        assert_balanced(clicks, "user", 4, 1.5, names="hash")


def test_a_large_cached_frame_is_not_read_to_its_end(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.spark.counting.heads.LEAST_ROWS", 12_000)
    hot = "if(rand(1) < 0.3, 'hot', 'u' || cast(rand(2) * 4000 AS int)) AS user"
    rows = spark.range(0, 200_000, numPartitions=4).selectExpr(hot, "id").cache()
    assert rows.count() == 200_000
    exact = profile(rows, "user", lanes=2, sample=1.0)
    if is_connect(rows):
        pytest.skip("Spark Connect cannot be asked for the first rows of every partition")
    # There is no pass over all rows.
    monkeypatch.setattr("trimtab.spark.batch.profile.count_frame", None)
    found = profile(rows, "user", lanes=2)
    rows.unpersist()
    assert (found.rows, found.exact) == (200_000, False)
    # 12,000 rows are looked at, 3,600 of them hot: a standard error of 1.4 %.
    assert found.hottest[0].key == "hot"
    assert found.hottest[0].share == pytest.approx(exact.hottest[0].share, rel=0.06)
    assert found.max_over_mean == pytest.approx(exact.max_over_mean, rel=0.05)
    # Two rows of each light key are met on average: Chao's standard error is some 2 %.
    assert found.histogram.distinct == pytest.approx(4001, rel=0.08)
