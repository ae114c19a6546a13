"""A plan compiled to Spark columns, and rows laid out by it: one shuffle, no Python per row.

The lane that Spark computes equals `Plan.route` bit for bit. Only the public DataFrame API is used,
and nothing overflows under ANSI mode.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab._checks import lane_count
from trimtab.errors import InvalidArgument
from trimtab.plan import Plan
from trimtab.spark.columns import quoted, spare_names
from trimtab.spark.fragments import FragmentTable
from trimtab.spark.perfect_hash import PerfectHash

MOST_INLINE_KEYS = 1000
"""Plans with more heavy keys become a broadcast join: literals of that size would fill the plan's
text, which Spark logs and shows."""


def lane_column(plan: Plan, key_hash: Column, row_hash: Column | None = None) -> Column:
    """Give the lane of each row under `plan`, as one integer expression.

    Parameters
    ----------
    plan
        The plan, of at most `MOST_INLINE_KEYS` heavy keys; `with_lane` takes any number.
    key_hash, row_hash
        Hash columns, as `columns.key_columns(...).hash` and `columns.row_hash` give them. The row's
        hash is needed, and used, only if the plan splits keys.

    Notes
    -----
    Heavy keys are found by perfect hashing: two array look-ups find the only place where a key can
    stand. A set test followed by a map look-up, the obvious way to write this, boxes every hash and
    scans the map from its start.
    """
    code = _code_column(plan, key_hash)
    if not plan.splits_keys:
        return code
    table = FragmentTable.of(plan)
    rows = _given(row_hash)
    first = _first_cut(table, code, rows)
    return F.when(code >= 0, code).otherwise(_lane_of_fragment(table, first, rows))


def with_lane(
    df: DataFrame, plan: Plan, name: str, key_hash: Column, row_hash: Column | None = None
) -> DataFrame:
    """Add the lane of each row as the integer column `name`; large plans are joined by broadcast.

    Best where the plan splits keys or where the lane must be a column: what is used several times
    is computed once, in a projection of its own.
    """
    hashed, row, code, first = spare_names([*df.columns, name], "hash", "row", "code", "first")
    rows = [_given(row_hash).alias(row)] if plan.splits_keys else []
    hashed_rows = _kept_apart(df).select("*", key_hash.alias(hashed), *rows)
    if len(plan) <= MOST_INLINE_KEYS:
        coded = hashed_rows.select("*", _code_column(plan, F.col(hashed)).alias(code))
    else:
        coded = _join_codes(hashed_rows, plan, F.col(hashed), code)
    if not plan.splits_keys:
        return coded.drop(hashed).withColumnRenamed(code, name)
    table = FragmentTable.of(plan)
    # Whole keys have a negative index here, for which the guide gives null.
    guided = coded.select("*", _first_cut(table, F.col(code), F.col(row)).alias(first))
    fragment = _lane_of_fragment(table, F.col(first), F.col(row))
    lane = F.when(F.col(code) >= 0, F.col(code)).otherwise(fragment)
    return guided.select("*", lane.alias(name)).drop(hashed, row, code, first)


def lay_out(df: DataFrame, lanes: int, lane: str | Column) -> DataFrame:
    """Send each row to the partition that its lane names.

    With a plain integer column `lane` among the grouping keys, what follows needs no second
    shuffle. Adaptive execution leaves the number of partitions alone.
    """
    column = F.col(quoted(lane)) if isinstance(lane, str) else lane
    return df.repartitionById(lane_count(lanes), column)


def unsigned_mod(key_hash: Column, modulus: int) -> Column:
    """Give `uint64(key_hash) mod modulus` of a signed long column."""
    wrapped = (1 << 64) % modulus
    signed = F.pmod(key_hash, F.lit(modulus).cast("long"))
    if wrapped == 0:
        return signed
    # A negative long stands for itself plus 2^64.
    shifted = signed + F.when(key_hash < 0, F.lit(wrapped)).otherwise(F.lit(0))
    return F.when(shifted >= modulus, shifted - modulus).otherwise(shifted)


def _kept_apart(df: DataFrame) -> DataFrame:
    """Keep the optimiser from evaluating our tables row by row when `df` is local data.

    Spark evaluates projections of local data before it folds constants, and would parse a table
    once per row. A sort by a constant stands between and is removed once constants are folded.
    """
    return df.sortWithinPartitions(F.lit(""))


def _code_column(plan: Plan, key_hash: Column) -> Column:
    """Give the lane of a row's key, or -1 - i if it is the i-th split key of the plan."""
    tail = _tail_lane(plan, key_hash)
    if len(plan) == 0:
        return tail
    if len(plan) > MOST_INLINE_KEYS:
        raise InvalidArgument(
            f"a plan of {len(plan)} keys is too large for one expression, which holds "
            f"{MOST_INLINE_KEYS}; use with_lane, which joins it"
        )
    table = PerfectHash.of(plan.keys)
    bucket = key_hash.bitwiseAND(F.lit(table.displacement.size - 1))
    upper = F.shiftrightunsigned(key_hash, table.shift)
    displaced = upper.bitwiseXOR(_look_up(table.displacement, bucket))
    slot = displaced.bitwiseAND(F.lit(table.slots - 1))
    at = table.slot_of(plan.keys)
    # An empty slot holds a key that stands elsewhere, so that no key of a row equals it here.
    keys = np.full(table.slots, plan.keys.view(np.int64)[0])
    codes = np.zeros(table.slots, dtype=np.int32)
    keys[at], codes[at] = plan.keys.view(np.int64), _codes(plan)
    return F.when(_look_up(keys, slot) == key_hash, _look_up(codes, slot)).otherwise(tail)


def _join_codes(df: DataFrame, plan: Plan, key_hash: Column, name: str) -> DataFrame:
    key, found = spare_names([*df.columns, name], "key", "found")
    table = df.sparkSession.createDataFrame(
        pd.DataFrame({key: plan.keys.view(np.int64), found: _codes(plan)}),
        f"{key} long, {found} int",
    )
    joined = df.join(F.broadcast(table), key_hash == F.col(key), "left")
    code = F.coalesce(F.col(found), _tail_lane(plan, key_hash))
    return joined.select("*", code.alias(name)).drop(key, found)


def _tail_lane(plan: Plan, key_hash: Column) -> Column:
    hosts = plan.hosts
    index = unsigned_mod(key_hash, hosts.size)
    if np.array_equal(hosts, np.arange(hosts.size)):
        return index.cast("int")
    return _look_up(hosts, index)


def _codes(plan: Plan) -> NDArray[np.int32]:
    codes: NDArray[np.int32] = plan.lane_of[plan.starts[:-1]].astype(np.int32)
    split = np.diff(plan.starts) > 1
    codes[split] = -1 - np.arange(int(split.sum()), dtype=np.int32)
    return codes


def _given(row_hash: Column | None) -> Column:
    if row_hash is None:
        raise InvalidArgument("this plan splits keys; give the hash of the row as well")
    return row_hash


def _first_cut(table: FragmentTable, code: Column, row_hash: Column) -> Column:
    cell = F.shiftrightunsigned(row_hash, 64 - table.cell_bits)
    return _look_up(table.guide, (F.lit(-1) - code) * F.lit(1 << table.cell_bits) + cell)


def _lane_of_fragment(table: FragmentTable, first: Column, row_hash: Column) -> Column:
    point = F.shiftrightunsigned(row_hash, 32)
    position = first
    for step in range(table.steps):
        cut = _look_up(table.cuts, first + F.lit(step))
        position = position + F.when(point >= cut, F.lit(1)).otherwise(F.lit(0))
    return _look_up(table.lanes, position)


def _look_up(values: NDArray[Any], index: Column) -> Column:
    kind = "int" if values.dtype == np.int32 else "bigint"
    # One string that the optimiser turns into an array literal: a thousand literals would be a
    # thousand calls from here, and as many nodes to analyse.
    array = F.split(F.lit(",".join(map(str, values.tolist()))), ",").cast(f"array<{kind}>")
    # `get` gives null outside of the array where `[]` would raise.
    return F.get(array, index.cast("int"))
