"""One side of a join on its lanes: copied keys on all of theirs, every other row on one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab.plan import Plan
from trimtab.spark.batch.join_keys import SideKeys
from trimtab.spark.columns import quoted, spare_names
from trimtab.spark.routing.compiled import lane_text, lay_out, unsigned_mod, with_lane
from trimtab.spark.row_hash import row_hash, row_hash_text


def laid_out(
    df: DataFrame,
    keys: SideKeys,
    plan: Plan,
    copied: NDArray[np.uint64],
    lane: str,
    mark: str | None = None,
    moves: bool = True,
) -> DataFrame:
    """Lay one side out: its copied keys on all of their lanes, its other rows on one.

    Parameters
    ----------
    df, keys, plan
        The side, its keys, and where they go.
    copied
        Split keys whose rows are divided on the other side and copied on this one.
    lane
        Name of the column for the lane.
    mark
        Name of a column for `comes_out_elsewhere`, if that is needed: which copy a row is, and its
        key if it is a copy. It is never null.
    moves
        Whether the rows move to their lanes now. Otherwise the lane is only a column, by which and
        by the key Spark's own join then moves them.
    """

    def there(placed: DataFrame) -> DataFrame:
        return lay_out(placed, plan.lanes, lane) if moves else placed

    hashed, targets, number = spare_names([*df.columns, lane], "hash", "targets", "number")
    # A null matches nothing, so its row may go anywhere: by its own hash, not all to one lane.
    anywhere = f"cast({unsigned_mod(row_hash_text(df.schema), plan.lanes)} AS int)"
    on_lane = F.col(quoted(lane))
    if len(plan) == 0:
        # No tables to keep apart: one projection, of which each takes Spark some milliseconds.
        by_hash = lane_text(plan, keys.hash_text)
        placed = df.select("*", F.expr(_spread(keys, anywhere, by_hash)).alias(lane))
    else:
        placed = with_lane(df, plan, lane, keys.hash, row_hash(df))
        placed = placed.withColumn(lane, F.expr(_spread(keys, anywhere, quoted(lane))))
    marked = [] if mark is None else [_mark(F.lit(0), F.lit(None), mark)]
    if copied.size == 0:
        return there(placed.select("*", *marked))
    is_copied = F.col(hashed).isin(_signed(copied)) & ~keys.has_null
    listed = F.split(F.element_at(_lanes_of(plan, copied), F.col(hashed)), ",").cast("array<int>")
    lanes = F.when(is_copied, listed).otherwise(F.array(on_lane))
    # By `*`: names of the user's columns may stand for several of them.
    spread = (
        placed.withColumn(hashed, keys.hash)
        .withColumn(targets, lanes)
        .drop(lane)
        .select("*", F.posexplode(targets).alias(number, lane))
    )
    if mark is not None:
        marked = [_mark(F.col(number), F.when(is_copied, keys.value), mark)]
    return there(spread.select("*", *marked).drop(hashed, targets, number))


def comes_out_elsewhere(
    mark: str,
    mark_of_other: str,
    other: DataFrame,
    other_keys: SideKeys,
    copied: NDArray[np.uint64],
) -> Column:
    """Tell which rows of a full join are copies without a match that must not come out.

    Of the copies of a row whose key the other side has, all that stand on lanes without it: the row
    comes out where the key is. Of those of a row whose key it has not, all but the first. The plan
    knows such keys as split, since the other side had them when it was counted; so which of them
    are there is looked up by the join itself. The keys are compared, not their hashes.

    Parameters
    ----------
    mark, mark_of_other
        The marks that `laid_out` gave the rows, and those of the other side.
    other, other_keys, copied
        The other side, its keys, and those that are divided there.
    """
    if copied.size == 0:
        return F.lit(False)
    number, key = F.col(mark).getField("number"), F.col(mark).getField("key")
    (hashed,) = spare_names(other.columns, "hash")
    divided = (
        other.where(~other_keys.has_null)
        .select(other_keys.value.alias("key"), other_keys.hash.alias(hashed))
        .where(F.col(hashed).isin(_signed(copied)))
    )
    # A subquery above the join, not one more join: a user who asks the result for a column of one
    # of the two frames would else be told that there are several such frames.
    there = divided.agg(F.collect_set("key")).scalar()
    alone = F.col(mark_of_other).isNull() & key.isNotNull()
    return F.coalesce(alone & ((number > 0) | F.array_contains(there, key)), F.lit(False))


def _spread(keys: SideKeys, anywhere: str, lane: str) -> str:
    return f"CASE WHEN {keys.has_null_text} THEN {anywhere} ELSE {lane} END"


def _mark(number: Column, key: Column, name: str) -> Column:
    return F.struct(number.alias("number"), key.alias("key")).alias(name)


def _signed(keys: NDArray[np.uint64]) -> list[int]:
    signed: list[int] = keys.view(np.int64).tolist()
    return signed


def _lanes_of(plan: Plan, keys: NDArray[np.uint64]) -> Column:
    """Return a map from the hashes of keys to their lanes, as text."""
    lanes = [",".join(str(lane) for lane, _ in plan.fragments(int(key))) for key in keys]
    pairs = zip(_signed(keys), lanes, strict=True)
    return F.create_map(*(F.lit(part) for pair in pairs for part in pair))
