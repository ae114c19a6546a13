"""The skewed join against Spark's own: equal rows for every kind, and no further exchange."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from tests.spark.frames import layouts
from trimtab import Histogram
from trimtab.errors import InvalidArgument, TrimtabError, UnsupportedKeyType
from trimtab.planners.join import plan_join
from trimtab.spark.batch.join import explain_join, join

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]

KINDS = [
    "inner",
    "left",
    "right",
    pytest.param("full", marks=pytest.mark.smoke),
    "semi",
    "anti",
]


def rows(df: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in df.collect())


def frame(spark: SparkSession, keys: list[Any], value: str, key_type: str = "string") -> DataFrame:
    data = [(key, i) for i, key in enumerate(keys)]
    return spark.createDataFrame(data, f"k {key_type}, {value} int").repartition(3)


@pytest.fixture(scope="module")
def sides(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Return two sides: a key hot on the left, one on the right, one on both, nulls, orphans."""
    left = ["L"] * 300 + ["R"] * 3 + ["B"] * 60 + [None] * 80 + [f"k{i}" for i in range(60)]
    right = ["L"] * 2 + ["R"] * 300 + ["B"] * 60 + [None] * 50 + [f"k{i}" for i in range(30, 90)]
    right += ["only right"] * 40
    left += ["only left"] * 200
    return frame(spark, left, "a").cache(), frame(spark, right, "b").cache()


@pytest.mark.parametrize("how", KINDS)
def test_rows_equal_those_of_sparks_own_join(sides: tuple[DataFrame, DataFrame], how: str) -> None:
    left, right = sides
    ours = join(left, right, "k", how, lanes=6, level_enough=1.0)
    theirs = left.join(right, "k", how)
    assert ours.columns == theirs.columns
    assert rows(ours) == rows(theirs)


@pytest.mark.parametrize("how", KINDS)
def test_keys_of_other_names_and_the_order_of_columns(
    sides: tuple[DataFrame, DataFrame], how: str
) -> None:
    left = sides[0].select("a", "k", F.lit(1).alias("x"))
    right = sides[1].select("b", F.col("k").alias("other"), F.lit(2).alias("x"))
    ours = join(left, right, left.k == right.other, how, lanes=6, level_enough=1.0)
    theirs = left.join(right, left.k == right.other, how)
    assert ours.columns == theirs.columns
    assert rows(ours) == rows(theirs)
    assert layouts(ours) == 2
    # What was one of the frames' columns is still found in the result.
    kept = [left.k, left.x] if how in ("semi", "anti") else [right.x, left.k, right.other]
    assert rows(ours.select(*kept)) == rows(theirs.select(*kept))


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", KINDS)
def test_names_in_a_list_and_the_order_of_columns(
    sides: tuple[DataFrame, DataFrame], how: str
) -> None:
    left = sides[0].select("a", F.lit(1).alias("x"), "k", F.lit("l").alias("s"))
    right = sides[1].select(F.lit("r").alias("s"), "b", "k", F.lit(1).alias("x"))
    for on in (["x", "k"], ("k", "x"), ["K", "x"]):
        ours = join(left, right, on, how, lanes=6, level_enough=1.0)
        theirs = left.join(right, list(on), how)
        assert ours.columns == theirs.columns
        assert rows(ours) == rows(theirs)


def test_a_condition_that_is_left_to_spark(sides: tuple[DataFrame, DataFrame]) -> None:
    left, right = sides[0].where("k != 'L'"), sides[1].where("k != 'R'")
    on = [left.k == right.k, left.a > right.b]
    ours = join(left, right, on, "left", lanes=6, level_enough=1.0)
    assert layouts(ours) == 0
    assert rows(ours) == rows(left.join(right, on, "left"))
    assert "Spark's own: the condition is not seen" in explain_join(left, right, on)


def test_the_condition_is_explained(sides: tuple[DataFrame, DataFrame]) -> None:
    left, right = sides[0], sides[1].withColumnRenamed("k", "other")
    text = explain_join(left, right, left.k == right.other, lanes=6, level_enough=1.0)
    assert "join inner on k = other, 6 lanes, 2 shuffles" in text


def test_a_frame_joined_with_itself_by_a_condition(sides: tuple[DataFrame, DataFrame]) -> None:
    left = sides[0].where("k like 'k%' or k = 'B'")
    other = left.where("a % 2 = 0").withColumnRenamed("a", "b")
    ours = join(left, other, left.k == other.k, "left", lanes=4, level_enough=1.0)
    assert rows(ours) == rows(left.join(other, left.k == other.k, "left"))


SPELLINGS = (
    "INNER Left leftouter LEFT_OUTER rightouter right_outer outer full_outer fullouter leftsemi "
    "left_semi leftanti left_anti cross"
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", [*SPELLINGS.split(), None])
def test_every_name_that_spark_has_for_a_join(
    sides: tuple[DataFrame, DataFrame], how: str | None
) -> None:
    left, right = sides[0].where("k != 'L'"), sides[1].where("k != 'R'")
    ours = join(left, right, "k", how, lanes=4)
    theirs = left.join(right, "k", how)
    assert ours.columns == theirs.columns
    assert rows(ours) == rows(theirs)


def test_a_join_without_keys_is_sparks_own(sides: tuple[DataFrame, DataFrame]) -> None:
    left, right = sides[0].limit(7), sides[1].limit(5)
    for how in ("cross", "inner", None):
        assert rows(join(left, right, how=how)) == rows(left.join(right, how=how))
        assert "no hot ones" in explain_join(left, right, how=how)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("empty", ["left", "right", "both"])
def test_empty_sides_are_no_mistake(
    sides: tuple[DataFrame, DataFrame], how: str, empty: str
) -> None:
    left, right = sides
    left = left.limit(0) if empty != "right" else left
    right = right.limit(0) if empty != "left" else right
    assert rows(join(left, right, "k", how, lanes=4)) == rows(left.join(right, "k", how))


@pytest.mark.smoke
def test_only_the_two_layouts_are_shuffled(
    sides: tuple[DataFrame, DataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    left, right = sides
    join(left, right, "k", lanes=6, level_enough=1.0).explain()
    plan = capsys.readouterr().out
    # The cached inputs bring the exchange that made them; what is above them is ours.
    above = "\n".join(line for line in plan.splitlines() if "REPARTITION_BY_NUM" in line)
    assert above.count("shufflepartitionidpassthrough") == 2
    assert "hashpartitioning(k" not in plan


def test_a_level_join_is_sparks_own(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    flat = frame(spark, [f"k{i % 200}" for i in range(2000)], "a")
    join(flat, frame(spark, [f"k{i}" for i in range(200)], "b"), "k", lanes=2).explain()
    assert "shufflepartitionidpassthrough" not in capsys.readouterr().out


def test_keys_of_different_widths_meet(spark: SparkSession) -> None:
    narrow = frame(spark, [1] * 200 + [2, 3], "a", "int")
    wide = frame(spark, [1, 2, 4], "b", "bigint")
    ours = join(narrow, wide, "k", "full", lanes=4, level_enough=1.0)
    assert rows(ours) == rows(narrow.join(wide, "k", "full"))


def test_several_key_columns_and_reserved_names_in_the_data(spark: SparkSession) -> None:
    data = [("x", i % 2, i) for i in range(200)] + [("y", None, 1), (None, 1, 2)]
    left = spark.createDataFrame(data, "a string, b int, __trimtab_lane int")
    right = spark.createDataFrame([("x", 0, 1.5), ("y", None, 2.5)], "a string, b int, c double")
    ours = join(left, right, ["a", "b"], "left", lanes=4, level_enough=1.0)
    theirs = left.join(right, ["a", "b"], "left")
    assert ours.columns == theirs.columns
    assert rows(ours) == rows(theirs)


@pytest.mark.parametrize("how", ["right", "full"])
def test_columns_of_one_name_are_no_mistake(sides: tuple[DataFrame, DataFrame], how: str) -> None:
    left, right = (df.select("*", F.lit(i).alias(df.columns[1])) for i, df in enumerate(sides))
    ours = join(left, right, "k", how, lanes=6, level_enough=1.0)
    assert rows(ours) == rows(left.join(right, "k", how))


def test_char_columns_of_different_lengths_meet(spark: SparkSession) -> None:
    sides = []
    for length, value in ((5, "a"), (8, "b")):
        name = f"char_{length}"
        spark.sql(f"create table {name} (k char({length}), {value} bigint) using parquet")
        spark.sql(f"insert into {name} select concat('k', id % 9), id from range(90)")
        sides.append(spark.table(name))
    left, right = sides
    try:
        expected = rows(left.join(right, "k"))
        assert len(expected) == 900
        assert rows(join(left, right, "k", lanes=4, level_enough=1.0)) == expected
        by_condition = join(left, right, left.k == right.k, lanes=4, level_enough=1.0)
        assert rows(by_condition) == rows(left.join(right, left.k == right.k))
        assert "Spark's own" in explain_join(left, right, "k", lanes=4)
    finally:
        for length in (5, 8):
            spark.sql(f"drop table char_{length}")


def test_a_guess_does_not_lose_rows_of_a_full_join() -> None:
    # More keys than are known one by one: of the last ones only an average is.
    known = dict.fromkeys(range(1, 1025), 50.0)
    left = Histogram.from_counts(known, total=1100 * 50.0, distinct=1100)
    right = Histogram.from_counts(dict.fromkeys(range(1, 1025), 1.0) | {5000: 50.0})
    made = plan_join(left, right, lanes=100, how="full_outer")
    assert 5000 not in made.split_left.tolist()


def test_a_frame_joined_with_itself(sides: tuple[DataFrame, DataFrame]) -> None:
    left, _ = sides
    few = left.where("k in ('L', 'k1') or k is null").where("a < 60 or k != 'L'")
    ours = join(few, few.select("k"), "k", "left", lanes=4, level_enough=1.0)
    assert rows(ours) == rows(few.join(few.select("k"), "k", "left"))


def test_keys_that_a_collation_makes_equal_are_refused(spark: SparkSession) -> None:
    # Their hashes differ, so that matching rows would be sent to different lanes.
    left = spark.createDataFrame([("A",)], "k string collate UTF8_LCASE")
    with pytest.raises(UnsupportedKeyType, match="collation UTF8_LCASE"):
        join(left, left, "k")


@pytest.mark.smoke
def test_the_join_is_explained(sides: tuple[DataFrame, DataFrame]) -> None:
    text = explain_join(*sides, "k", lanes=6, level_enough=1.0)
    assert "join inner on k, 6 lanes, 2 shuffles" in text
    assert "by plain hashing" in text
    assert "Spark's own" in explain_join(*sides, "k", lanes=6, level_enough=100)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on": "nope"}, "no column 'nope'"),
        ({"on": []}, "on must be the name"),
        ({"on": 7}, "on must be the name"),
        ({"on": "k", "how": "sideways"}, "how must be one of"),
        ({"on": "k", "lanes": 0}, "lanes must be"),
        ({"on": "k", "level_enough": 0.5}, "level_enough must be"),
    ],
)
def test_mistakes_are_one_sentence_before_any_job(
    sides: tuple[DataFrame, DataFrame], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(TrimtabError, match=message):
        join(*sides, **arguments)


def test_keys_that_cannot_be_compared_are_refused(spark: SparkSession) -> None:
    with pytest.raises(InvalidArgument, match="string on the left and int on the right"):
        join(frame(spark, ["1"], "a"), frame(spark, [1], "b", "int"), "k")
