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
    """Give the lane of each row under `plan`, as an integer column.

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
    tail = _tail_lane(plan, key_hash)
    if len(plan) == 0:
        return tail
    if len(plan) > MOST_INLINE_KEYS:
        raise InvalidArgument(
            f"a plan of {len(plan)} keys is too large for one expression, which holds "
            f"{MOST_INLINE_KEYS}; use with_lane, which joins it"
        )
    table = PerfectHash.of(plan.keys)
    upper = F.shiftrightunsigned(key_hash, table.shift)
    bucket = key_hash.bitwiseAND(F.lit(table.displacement.size - 1))
    displaced = upper.bitwiseXOR(_look_up(table.displacement, bucket))
    slot = displaced.bitwiseAND(F.lit(table.slots - 1))
    at = table.slot_of(plan.keys)
    # An empty slot holds some key that stands elsewhere, so that no row's key equals it here.
    keys = np.full(table.slots, plan.keys.view(np.int64)[0])
    codes = np.zeros(table.slots, dtype=np.int32)
    keys[at], codes[at] = plan.keys.view(np.int64), _codes(plan)
    code = F.when(_look_up(keys, slot) == key_hash, _look_up(codes, slot)).otherwise(tail)
    return _decode(plan, code, row_hash)


def with_lane(
    df: DataFrame, plan: Plan, name: str, key_hash: Column, row_hash: Column | None = None
) -> DataFrame:
    """Add the lane of each row as the integer column `name`; large plans are joined by broadcast."""
    if len(plan) <= MOST_INLINE_KEYS:
        return df.select("*", lane_column(plan, key_hash, row_hash).alias(name))
    hashed, key, code = spare_names([*df.columns, name], "hash", "key", "code")
    table = df.sparkSession.createDataFrame(
        pd.DataFrame({key: plan.keys.view(np.int64), code: _codes(plan)}),
        f"{key} long, {code} int",
    )
    found = df.select("*", key_hash.alias(hashed)).join(
        F.broadcast(table), F.col(hashed) == F.col(key), "left"
    )
    tail = _tail_lane(plan, F.col(hashed))
    lane = _decode(plan, F.coalesce(F.col(code), tail), row_hash)
    return found.select("*", lane.alias(name)).drop(hashed, key, code)


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


def _tail_lane(plan: Plan, key_hash: Column) -> Column:
    hosts = plan.hosts
    index = unsigned_mod(key_hash, hosts.size)
    if np.array_equal(hosts, np.arange(hosts.size)):
        return index.cast("int")
    return _look_up(hosts, index)


def _codes(plan: Plan) -> NDArray[np.int32]:
    """Give, for each heavy key, its lane, or -1 - i if it is the i-th split key."""
    counts = np.diff(plan.starts)
    codes = plan.lane_of[plan.starts[:-1]].astype(np.int32)
    split = counts > 1
    codes[split] = -1 - np.arange(int(split.sum()), dtype=np.int32)
    return codes


def _decode(plan: Plan, code: Column, row_hash: Column | None) -> Column:
    """Turn codes into lanes: whole keys have theirs, split keys pick one by the row's hash."""
    if not plan.splits_keys:
        return code
    if row_hash is None:
        raise InvalidArgument("this plan splits keys; give the hash of the row as well")
    table = FragmentTable.of(plan)
    point = F.shiftrightunsigned(row_hash, 32)
    cell = F.shiftrightunsigned(row_hash, 64 - table.cell_bits)
    at = _look_up(table.guide, (F.lit(-1) - code) * F.lit(1 << table.cell_bits) + cell)
    position = at
    for step in range(table.steps):
        cut = _look_up(table.cuts, at + F.lit(step))
        position = position + F.when(point >= cut, F.lit(1)).otherwise(F.lit(0))
    return F.when(code >= 0, code).otherwise(_look_up(table.lanes, position))


def _look_up(values: NDArray[Any], index: Column) -> Column:
    kind = "int" if values.dtype == np.int32 else "bigint"
    # One string that the optimiser turns into an array literal: a thousand literals would be a
    # thousand calls from here, and as many nodes to analyse.
    array = F.split(F.lit(",".join(map(str, values.tolist()))), ",").cast(f"array<{kind}>")
    # `get` gives null outside of the array where `[]` would raise.
    return F.get(array, index.cast("int"))
