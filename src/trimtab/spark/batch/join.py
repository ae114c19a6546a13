"""A join whose hot keys are split over several lanes; the other side is copied only there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, TypeAlias

import numpy as np
from pyspark.sql import Column, DataFrame

from trimtab._checks import lane_count, real
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.partitioners import HOSTS_PER_LANE
from trimtab.planners.join import SPLITTABLE, JoinPlan, plan_join
from trimtab.spark.batch.decision import default_lanes
from trimtab.spark.batch.fewer_partitions import says_fewer
from trimtab.spark.batch.hot_pieces import pieces_of_hot_keys
from trimtab.spark.batch.join_keys import JoinKeys, SideKeys
from trimtab.spark.batch.join_layout import comes_out_elsewhere, laid_out
from trimtab.spark.batch.key_plan import (
    GivenPlan,
    KnownHistogram,
    known_histogram,
    known_plan,
)
from trimtab.spark.batch.small_join import hashed_on_few
from trimtab.spark.columns import key_columns, spare_names
from trimtab.spark.counting.counted import count_frame, known_keys
from trimtab.spark.spark_text import join_facts

On: TypeAlias = str | Column | Sequence[str] | Sequence[Column]
"""What a join is on: columns that both sides have, by name, or conditions as Columns."""

KnownSides: TypeAlias = "tuple[KnownHistogram, KnownHistogram]"
"""What is known of the keys of the left and of the right side."""

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
    histogram: KnownSides | None = None,
    plan: GivenPlan | None = None,
) -> DataFrame:
    """Join two frames on equal keys, as `left.join(right, on, how)` does, without stragglers.

    The rows are those of Spark's own join, in some order. It decides first whether a hot key is
    worth handling apart. If so its rows are cut into pieces on one side and copied to each piece
    on the other; all the rest goes through Spark's own join, which AQE may still change. If not,
    this is Spark's own join, of small frames on few partitions with a hash table of the smaller
    side on each; and so it is where no columns are known that must be equal: without `on`, for a
    cross join, and for conditions that say more.

    With `lanes`, `histogram` or `plan` both sides are laid out by one plan instead: hot keys
    are split over as many lanes as their work needs, and rows with a null in their key, which match
    nothing, are spread evenly.

    Parameters
    ----------
    left, right
        The frames. Where they are laid out each is read once more to find its hot keys, and for a
        full join that splits keys to see which of them it still has: cache what is costly to make.
    on
        Key column or columns, of the same names on both sides; or conditions as Columns, such as
        `left.user == right.id`, several in a list.
    how
        Kind of join, by any of Spark's names for it.
    lanes
        Number of partitions of the result, which is then laid out by a plan.
    level_enough
        Expected max/mean of plain hashing, 1 or more, up to which Spark's own join is used although
        `lanes` or `histogram` was given.
    histogram
        What is known of the keys of the left and of the right side, by rows: two histograms, or the
        files that they were saved to. Nothing is counted then.
    plan
        A plan of an earlier run for the keys of the left side: what `plan_keys` gave, or its file.
        Keys that it splits are divided on the left and copied on the right, so that a right join
        takes none that splits.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
    >>> names = spark.sql("select 'ann' as user, 'Ann Lee' as name")
    >>> joined = tt.join(clicks, names, "user", "left", lanes=4)
    >>> sorted(map(tuple, joined.groupBy("name").count().collect()), key=str)
    [('Ann Lee', 60), (None, 40)]
    """
    decided = _decide(left, right, on, how, lanes, level_enough, histogram, plan)
    keys, made, kind = decided.keys, decided.made, decided.kind
    if keys is None or made is None:
        return decided.plain
    lane_left, lane_right, mark_left, mark_right = spare_names(
        [*left.columns, *right.columns], "lane_left", "lane_right", "mark_left", "mark_right"
    )
    if keys.merged:
        lane_right = lane_left
    marks = (mark_left, mark_right) if kind == "full_outer" else (None, None)
    by, moves = made.plan, decided.moves
    routed_left = laid_out(left, keys.left, by, made.split_right, lane_left, marks[0], moves)
    routed_right = laid_out(right, keys.right, by, made.split_left, lane_right, marks[1], moves)
    if decided.built == "left":
        routed_left = routed_left.hint("shuffle_hash")
    elif decided.built == "right":
        routed_right = routed_right.hint("shuffle_hash")
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
    histogram: KnownSides | None = None,
    plan: GivenPlan | None = None,
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
    decided = _decide(left, right, on, how, lanes, level_enough, histogram, plan)
    keys, made = decided.keys, decided.made
    if keys is None:
        return f"join {decided.kind}, Spark's own: {decided.why}"
    head = f"join {decided.kind} on {keys}"
    if made is None:
        return f"{head}, Spark's own: {decided.why}"
    if decided.built is not None:
        few = says_fewer(made.plan.lanes, left.sparkSession)
        table = f"a hash table of the {decided.built} side on each"
        return f"{head}, Spark's own {few}, {table}: {decided.why}"
    split = len(made.split_left), len(made.split_right)
    hot = (
        f"{split[0]} keys split on the left and copied on the right, {split[1]} the other way round"
    )
    if not decided.moves:
        return f"{head}, Spark's own but for hot keys: {hot}\nwhy: {decided.why}"
    return (
        f"{head}, {made.plan.lanes} lanes, 2 shuffles: {hot}\nexpected max/mean of the work "
        f"{made.max_over_mean:.3f}; by plain hashing {made.hash_max_over_mean:.3f}\n"
        f"{made.plan.explain(made.work, most=5)}"
    )


@dataclass(frozen=True)
class _Decided:
    """How two frames are joined: by keys and a plan, or by Spark alone, and why.

    Attributes
    ----------
    plain
        Spark's own join.
    moves
        Whether all rows are laid out by the plan; otherwise only hot keys are cut into pieces, and
        Spark's own join moves the rows.
    built
        The side of a small join, "left" or "right", that Spark is to build its hash table of.
    """

    kind: str
    plain: DataFrame
    keys: JoinKeys | None = None
    made: JoinPlan | None = None
    why: str = ""
    moves: bool = True
    built: str | None = None


def _decide(
    left: DataFrame,
    right: DataFrame,
    on: On | None,
    how: str | None,
    lanes: int | None,
    level_enough: float,
    histogram: KnownSides | None,
    plan: GivenPlan | None,
) -> _Decided:
    kind = _kind(how)
    if plan is not None and (lanes is not None or histogram is not None):
        raise InvalidArgument("a plan says where every key goes; leave lanes and histogram out")
    real("level_enough", level_enough, 1)
    count = None if lanes is None else lane_count(lanes)
    if on is None or kind == "cross":
        plain = left.join(right, None if on is None else _listed(on), kind)
        return _Decided(kind, plain, why="without keys there are no hot ones")
    given = _listed(on)
    by_condition = given and all(isinstance(part, Column) for part in given)
    keys = (JoinKeys.by_condition if by_condition else JoinKeys.by_name)(left, right, given)
    # Only now: mistakes in the keys are told in our words.
    plain = left.join(right, given, kind)
    if keys is None:
        reason = (
            "the condition is not seen to be that columns of the left equal columns of the right "
            "of a type that can be hashed, and of one length if they are char"
        )
        return _Decided(kind, plain, why=reason)
    if plan is not None:
        return _Decided(kind, plain, keys, _given_plan(left, keys.left, kind, plan))
    if count is None and histogram is None:
        if left.isStreaming or right.isStreaming:
            return _Decided(kind, plain, keys, why="the rows of a stream cannot be counted")
        facts = join_facts(left, right, plain)
        pieces = pieces_of_hot_keys(left, right, facts, keys, kind)
        small = pieces.made is None
        few = hashed_on_few(left.sparkSession, facts, kind) if small else None
        if few is not None:
            return _Decided(kind, plain, keys, few.made, pieces.why, built=few.built)
        return _Decided(kind, plain, keys, pieces.made, pieces.why, moves=False)
    count = count or max(default_lanes(left), default_lanes(right))
    known = _known_sides(left, right, keys, count, histogram)
    made = plan_join(*known, count, kind)
    hashed = made.hash_max_over_mean
    if hashed > level_enough:
        return _Decided(kind, plain, keys, made)
    level = (
        f"plain hashing gives an expected max/mean of {hashed:.3f}, and up to {level_enough:g} is "
        "level enough"
    )
    return _Decided(kind, plain, keys, None, level)


def _given_plan(left: DataFrame, keys: SideKeys, kind: str, given: GivenPlan) -> JoinPlan:
    """Return a plan for the left side's keys as one of the join."""
    # By the types in which both sides are compared: keys have their hashes in these.
    known = known_plan(given, left, key_columns(left, keys.columns))
    split = np.array(
        [key for key, parts in known.plan.all_fragments().items() if len(parts) > 1], np.uint64
    )
    if split.size and not SPLITTABLE[kind][0]:
        raise InvalidArgument(
            f"the plan splits {split.size} keys, and a join of kind {kind} cannot divide rows of "
            "its left side; give a plan that keeps keys whole, or exchange the two sides"
        )
    none = np.empty(0, dtype=np.uint64)
    return JoinPlan(known.plan, split, none, known.histogram or Histogram.from_counts({}))


def _known_sides(
    left: DataFrame, right: DataFrame, keys: JoinKeys, lanes: int, given: KnownSides | None
) -> tuple[Histogram, Histogram]:
    if given is None:
        return _known_keys(left, keys.left, lanes), _known_keys(right, keys.right, lanes)
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidArgument(
            "a join takes two histograms, of the left side's keys and of the right side's; got "
            f"{type(given).__name__}"
        )
    one, other = map(known_histogram, given)
    assert one is not None
    assert other is not None
    return one, other


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
