"""A join whose hot keys are split over several lanes; the other side is copied only there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame

from trimtab._checks import lane_count, real
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.partitioners import HOSTS_PER_LANE
from trimtab.planners.join import JoinPlan, plan_join
from trimtab.spark.batch.join_keys import JoinKeys, SideKeys
from trimtab.spark.batch.join_layout import comes_out_elsewhere, laid_out
from trimtab.spark.columns import key_columns, spare_names
from trimtab.spark.counting.counted import count_frame, known_keys
from trimtab.spark.session_facts import shuffle_partitions

On: TypeAlias = str | Column | Sequence[str] | Sequence[Column]
"""What a join is on: columns that both sides have, by name, or conditions as Columns."""

_KINDS = {
    "inner": "inner",
    "cross": "cross",
    **dict.fromkeys(("left", "leftouter"), "left_outer"),
    **dict.fromkeys(("right", "rightouter"), "right_outer"),
    **dict.fromkeys(("outer", "full", "fullouter"), "full_outer"),
    **dict.fromkeys(("semi", "leftsemi"), "left_semi"),
    **dict.fromkeys(("anti", "leftanti"), "left_anti"),
}
"""Spark's names of joins. It does not look at underscores in them, nor at the case of letters."""

LEVEL_ENOUGH = 1.2
"""Below this expected max/mean plain hashing is left alone: laying out costs more than it gains."""


def join(
    left: DataFrame,
    right: DataFrame,
    on: On | None = None,
    how: str | None = "inner",
    *,
    lanes: int | None = None,
    level_enough: float = LEVEL_ENOUGH,
) -> DataFrame:
    """Join two frames on equal keys, as `left.join(right, on, how)` does, without stragglers.

    The rows are those of Spark's own join, in some order. Hot keys are split over as many lanes as
    their work needs; on the side that is not split, the rows of a split key, and of no other, are
    copied to each of its lanes. Rows with a null in their key match nothing and are spread evenly.
    Where hashing is level already, this is Spark's own join; and so it is where no columns are
    known that must be equal: without `on`, for a cross join, and for conditions that say more.

    Parameters
    ----------
    left, right
        The frames. Each is read once more to find its hot keys, and for a full join that splits
        keys to see which of them it still has: cache what is costly to make.
    on
        Key column or columns, of the same names on both sides; or conditions as Columns, such as
        `left.user == right.id`, several in a list.
    how
        Kind of join, by any of Spark's names for it.
    lanes
        Number of partitions of the result; by default `spark.sql.shuffle.partitions`.
    level_enough
        Expected max/mean of plain hashing, 1 or more, up to which Spark's own join is used.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
    >>> names = spark.sql("select 'ann' as user, 'Ann Lee' as name")
    >>> joined = tt.join(clicks, names, "user", "left", lanes=4)
    >>> sorted(map(tuple, joined.groupBy("name").count().collect()), key=str)
    [('Ann Lee', 60), (None, 40)]
    """
    decided = _decide(left, right, on, how, lanes, level_enough)
    keys, made, kind = decided.keys, decided.made, decided.kind
    if keys is None or made is None or decided.why_spark_alone:
        return left.join(right, None if on is None else _listed(on), kind)
    lane_left, lane_right, mark_left, mark_right = spare_names(
        [*left.columns, *right.columns], "lane_left", "lane_right", "mark_left", "mark_right"
    )
    if keys.merged:
        lane_right = lane_left
    marks = (mark_left, mark_right) if kind == "full_outer" else (None, None)
    routed_left = laid_out(left, keys.left, made.plan, made.split_right, lane_left, marks[0])
    routed_right = laid_out(right, keys.right, made.plan, made.split_left, lane_right, marks[1])
    if keys.merged:
        joined = routed_left.join(routed_right, [*keys.left.names, lane_left], kind)
    else:
        equal = zip([*keys.left.names, lane_left], [*keys.right.names, lane_right], strict=True)
        condition = reduce(and_, (routed_left[one] == routed_right[other] for one, other in equal))
        joined = routed_left.join(routed_right, condition, kind)
    if kind == "full_outer":
        joined = joined.where(
            ~comes_out_elsewhere(mark_left, mark_right, right, keys.right, made.split_right)
        ).where(~comes_out_elsewhere(mark_right, mark_left, left, keys.left, made.split_left))
    return joined.drop(lane_left, lane_right, mark_left, mark_right)


def explain_join(
    left: DataFrame,
    right: DataFrame,
    on: On | None = None,
    how: str | None = "inner",
    *,
    lanes: int | None = None,
    level_enough: float = LEVEL_ENOUGH,
) -> str:
    """Say what `join` would do with the same arguments, and why.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
    >>> names = spark.sql("select 'ann' as user, 'Ann Lee' as name")
    >>> print(tt.explain_join(clicks, names, "user", lanes=4))
    join inner on user, 4 lanes, 2 shuffles: 1 keys split on the left and copied on the right, ...
    expected max/mean of the work 1.002; by plain hashing 3.230
    ...
    """
    decided = _decide(left, right, on, how, lanes, level_enough)
    keys, made = decided.keys, decided.made
    if keys is None or made is None:
        return f"join {decided.kind}, Spark's own: {decided.why_spark_alone}"
    head = f"join {decided.kind} on {keys}, {made.plan.lanes} lanes, "
    if decided.why_spark_alone:
        return f"{head}Spark's own: {decided.why_spark_alone}"
    split = len(made.split_left), len(made.split_right)
    return (
        f"{head}2 shuffles: {split[0]} keys split on the left and copied on the right, {split[1]} "
        f"the other way round\nexpected max/mean of the work {made.max_over_mean:.3f}; by plain "
        f"hashing {made.hash_max_over_mean:.3f}\n{made.plan.explain(made.work, most=5)}"
    )


@dataclass(frozen=True)
class _Decided:
    """How two frames are joined: by keys and a plan, or by Spark alone, and why."""

    kind: str
    keys: JoinKeys | None = None
    made: JoinPlan | None = None
    why_spark_alone: str = ""


def _decide(
    left: DataFrame,
    right: DataFrame,
    on: On | None,
    how: str | None,
    lanes: int | None,
    level_enough: float,
) -> _Decided:
    kind = _kind(how)
    real("level_enough", level_enough, 1)
    count = shuffle_partitions(left) if lanes is None else lane_count(lanes)
    if on is None or kind == "cross":
        return _Decided(kind, why_spark_alone="without keys there are no hot ones")
    given = _listed(on)
    by_condition = given and all(isinstance(part, Column) for part in given)
    keys = (JoinKeys.by_condition if by_condition else JoinKeys.by_name)(left, right, given)
    if keys is None:
        reason = (
            "the condition is not seen to be that columns of the left equal columns of the right "
            "of a type that can be hashed"
        )
        return _Decided(kind, why_spark_alone=reason)
    known_left = _known_keys(left, keys.left, count)
    known_right = _known_keys(right, keys.right, count)
    made = plan_join(known_left, known_right, count, kind)
    hashed = made.hash_max_over_mean
    level = (
        f"plain hashing gives an expected max/mean of {hashed:.3f}, and up to {level_enough:g} is "
        "level enough"
    )
    return _Decided(kind, keys, made, "" if hashed > level_enough else level)


def _kind(how: object) -> str:
    if how is None:
        return "inner"
    kind = _KINDS.get(how.lower().replace("_", "")) if isinstance(how, str) else None
    if kind is None:
        raise InvalidArgument(f"how must be one of {', '.join(_KINDS)}; got {how!r}")
    return kind


def _listed(on: On) -> list[Any]:
    return list(on) if isinstance(on, list | tuple) else [on]


def _known_keys(df: DataFrame, keys: SideKeys, lanes: int) -> Histogram:
    """Count the keys of one side in one pass; rows with a null key match nothing."""
    return count_frame(
        df.where(~keys.has_null),
        key_columns(df, keys.names),
        hosts=lanes * HOSTS_PER_LANE,
        top=known_keys(lanes),
        key_hash=keys.hash,
    ).histogram
