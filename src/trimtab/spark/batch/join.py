"""A join whose hot keys are split over several lanes; the other side is copied only there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab._checks import lane_count, real
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.partitioners import HOSTS_PER_LANE
from trimtab.plan import Plan
from trimtab.planners.join import JoinPlan, plan_join
from trimtab.spark.columns import key_columns, quoted, row_hash, row_hash_text, spare_names
from trimtab.spark.counting.counted import count_frame, known_keys
from trimtab.spark.routing.compiled import lay_out, unsigned_mod, with_lane
from trimtab.spark.session_facts import shuffle_partitions

_KINDS = {
    "inner": "inner",
    **dict.fromkeys(("left", "leftouter", "left_outer"), "left_outer"),
    **dict.fromkeys(("right", "rightouter", "right_outer"), "right_outer"),
    **dict.fromkeys(("outer", "full", "fullouter", "full_outer"), "full_outer"),
    **dict.fromkeys(("semi", "leftsemi", "left_semi"), "left_semi"),
    **dict.fromkeys(("anti", "leftanti", "left_anti"), "left_anti"),
}

LEVEL_ENOUGH = 1.2
"""Below this expected max/mean plain hashing is left alone: laying out costs more than it gains."""


def join(
    left: DataFrame,
    right: DataFrame,
    on: str | Sequence[str],
    how: str = "inner",
    *,
    lanes: int | None = None,
    level_enough: float = LEVEL_ENOUGH,
) -> DataFrame:
    """Join two frames on equal keys, as `left.join(right, on, how)` does, without stragglers.

    The rows are those of Spark's own join, in some order. Hot keys are split over as many lanes as
    their work needs; on the side that is not split, the rows of a split key, and of no other, are
    copied to each of its lanes. Rows with a null in their key match nothing and are spread evenly.
    Where hashing is level already, this is Spark's own join.

    Parameters
    ----------
    left, right
        The frames. Each is read once more to find its hot keys: cache what is costly to make.
    on
        Key column or columns, of the same names on both sides.
    how
        Kind of join, by any of Spark's names for inner, left, right, full, semi and anti.
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
    names, types, kind, made = decided.names, decided.types, decided.kind, decided.made
    if not decided.laid_out:
        return left.join(right, on=names, how=kind)
    lane, copied_left, copied_right = spare_names(
        [*left.columns, *right.columns], "lane", "copied_left", "copied_right"
    )
    routed_left = _routed(left, names, types, made.plan, made.split_right, lane, copied_left)
    routed_right = _routed(right, names, types, made.plan, made.split_left, lane, copied_right)
    joined = routed_left.join(routed_right, on=[*names, lane], how=kind)
    if kind == "full_outer":
        # A split key is known to have rows on the side that is divided, so every copy that found
        # none on its lane has found one on another: it must not come out as unmatched.
        lost_left = F.col(copied_right).isNull() & F.coalesce(F.col(copied_left), F.lit(False))
        lost_right = F.col(copied_left).isNull() & F.coalesce(F.col(copied_right), F.lit(False))
        joined = joined.where(~(lost_left | lost_right))
    return joined.drop(lane, copied_left, copied_right)


def explain_join(
    left: DataFrame,
    right: DataFrame,
    on: str | Sequence[str],
    how: str = "inner",
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
    made = decided.made
    plain, ours = made.hash_max_over_mean, made.max_over_mean
    head = f"join {decided.kind} on {', '.join(decided.names)}, {made.plan.lanes} lanes, "
    if not decided.laid_out:
        return (
            f"{head}Spark's own: plain hashing gives an expected max/mean of {plain:.3f}, and up "
            f"to {level_enough:g} is level enough"
        )
    split = len(made.split_left), len(made.split_right)
    return (
        f"{head}2 shuffles: {split[0]} keys split on the left and copied on the right, {split[1]} "
        f"the other way round\nexpected max/mean of the work {ours:.3f}; by plain hashing "
        f"{plain:.3f}\n{made.plan.explain(made.work, most=5)}"
    )


@dataclass(frozen=True)
class _Decided:
    names: list[str]
    types: list[T.DataType]
    kind: str
    made: JoinPlan
    laid_out: bool


def _decide(
    left: DataFrame,
    right: DataFrame,
    on: str | Sequence[str],
    how: str,
    lanes: int | None,
    level_enough: float,
) -> _Decided:
    kind = _kind(how)
    real("level_enough", level_enough, 1)
    names = [on] if isinstance(on, str) else list(on)
    types = _common_types(left, right, names)
    count = shuffle_partitions(left) if lanes is None else lane_count(lanes)
    known_left = _known_keys(left, names, types, count)
    known_right = _known_keys(right, names, types, count)
    made = plan_join(known_left, known_right, count, kind)
    return _Decided(names, types, kind, made, made.hash_max_over_mean > level_enough)


def _kind(how: object) -> str:
    kind = _KINDS.get(how.lower()) if isinstance(how, str) else None
    if kind is None:
        raise InvalidArgument(f"how must be one of {', '.join(_KINDS)}; got {how!r}")
    return kind


def _common_types(left: DataFrame, right: DataFrame, names: list[str]) -> list[T.DataType]:
    """Return the type in which each key is compared; equal keys must have equal hashes."""
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgument(
            "on must be the name, or names, of columns that both frames have; got "
            f"{names!r}; for other conditions rename the columns first"
        )
    fields = [key_columns(df, names).fields for df in (left, right)]
    types = []
    for one, other in zip(*fields, strict=True):
        kinds = (one.dataType, other.dataType)
        if kinds[0] == kinds[1]:
            types.append(kinds[0])
        elif all(isinstance(kind, T.NumericType) for kind in kinds):
            column = quoted(one.name)
            widened = left.select(column).union(right.select(quoted(other.name)))
            types.append(widened.schema.fields[0].dataType)
        else:
            raise InvalidArgument(
                f"key {one.name!r} is {kinds[0].simpleString()} on the left and "
                f"{kinds[1].simpleString()} on the right; cast one of them"
            )
    return types


def _key_hash(names: list[str], types: list[T.DataType]) -> Column:
    columns = [F.col(quoted(n)).cast(kind) for n, kind in zip(names, types, strict=True)]
    return F.xxhash64(*columns)


def _has_null(names: list[str]) -> Column:
    found = F.lit(False)
    for name in names:
        found = found | F.col(quoted(name)).isNull()
    return found


def _known_keys(df: DataFrame, names: list[str], types: list[T.DataType], lanes: int) -> Histogram:
    """Count the keys of one side in one pass; rows with a null key match nothing."""
    keyed = df.where(~_has_null(names))
    return count_frame(
        keyed,
        key_columns(df, names),
        hosts=lanes * HOSTS_PER_LANE,
        top=known_keys(lanes),
        key_hash=_key_hash(names, types),
    ).histogram


def _routed(
    df: DataFrame,
    names: list[str],
    types: list[T.DataType],
    plan: Plan,
    copied_keys: NDArray[np.uint64],
    lane: str,
    copied: str,
) -> DataFrame:
    """Lay one side out: its copied keys on all of their lanes, its other rows on one."""
    taken = [*df.columns, lane, copied]
    hashed, targets = spare_names(taken, "key_hash", "targets")
    key_hash = _key_hash(names, types)
    has_null = _has_null(names)
    placed = with_lane(df, plan, lane, key_hash, row_hash(df))
    # A null matches nothing, so its row may go anywhere: by its own hash, not all to one lane.
    anywhere = F.expr(unsigned_mod(row_hash_text(df.schema), plan.lanes)).cast("int")
    placed = placed.withColumn(lane, F.when(has_null, anywhere).otherwise(F.col(quoted(lane))))
    if copied_keys.size == 0:
        return lay_out(placed.withColumn(copied, F.lit(False)), plan.lanes, lane)
    signed = copied_keys.view(np.int64).tolist()
    lanes_of = [",".join(str(n) for n, _ in plan.fragments(int(key))) for key in copied_keys]
    literals = [F.lit(part) for pair in zip(signed, lanes_of, strict=True) for part in pair]
    listed = F.split(F.element_at(F.create_map(*literals), F.col(hashed)), ",").cast("array<int>")
    is_copied = F.col(hashed).isin(signed) & ~has_null
    others = [F.col(quoted(name)) for name in df.columns]
    spread = (
        placed.withColumn(hashed, key_hash)
        .withColumn(targets, F.when(is_copied, listed).otherwise(F.array(F.col(quoted(lane)))))
        .select(*others, F.explode(targets).alias(lane), is_copied.alias(copied))
    )
    return lay_out(spread, plan.lanes, lane)
