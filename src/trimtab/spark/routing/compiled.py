"""A plan compiled to Spark columns, and rows laid out by it: one shuffle, no Python per row.

The lane that Spark computes equals `Plan.route` bit for bit. Only the public DataFrame API is used,
and nothing overflows under ANSI mode.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab._checks import lane_count
from trimtab.errors import InvalidArgument
from trimtab.plan import Plan
from trimtab.spark.columns import quoted, spare_names
from trimtab.spark.routing.fragment_table import FragmentTable
from trimtab.spark.routing.perfect_hash import PerfectHash

MOST_INLINE_KEYS = 1000
"""Plans with more heavy keys become a broadcast join: literals of that size would fill the plan's
text, which Spark logs and shows."""

_Text = TypeVar("_Text", str, Column)


def lane_text(plan: Plan, key_hash: str, row_hash: str | None = None) -> str:
    """Return the lane of each row under `plan`, as one integer expression in SQL text.

    Parameters
    ----------
    plan
        The plan, of at most `MOST_INLINE_KEYS` heavy keys; `with_lane` takes any number.
    key_hash, row_hash
        The hashes as SQL text, as `columns.hash_text` and `row_hash.row_hash_text` give it. The
        row's hash is needed, and used, only if the plan splits keys.

    Notes
    -----
    Heavy keys are found by perfect hashing: two array look-ups find the only place where a key can
    stand. A set test followed by a map look-up, the obvious way to write this, boxes every hash and
    scans the map from its start.
    """
    code = _code_text(plan, key_hash)
    if not plan.splits_keys:
        return code
    table = FragmentTable.of(plan)
    rows = _given(row_hash)
    return _lane_of_code(code, _lane_of_fragment(table, _first_cut(table, code, rows), rows))


def with_lane(
    df: DataFrame, plan: Plan, name: str, key_hash: Column | str, row_hash: Column | None = None
) -> DataFrame:
    """Add the lane of each row as the integer column `name`; large plans are joined by broadcast.

    `key_hash` is an expression, or the name of a column of `df`. Best where the plan splits keys or
    where the lane must be a column: what is used several times is computed once, in a projection of
    its own. Projections are few: Spark analyses each of them when it is made.
    """
    hashed, row, code, first = spare_names([*df.columns, name], "hash", "row", "code", "first")
    added = [row, code, first] if plan.splits_keys else []
    columns = [_given(row_hash).alias(row)] if plan.splits_keys else []
    if isinstance(key_hash, str):
        hashed = key_hash
    else:
        columns.append(key_hash.alias(hashed))
        added.append(hashed)
    hashed_rows = _kept_apart(df)
    if columns:
        hashed_rows = hashed_rows.select("*", *columns)
    of_key = code if plan.splits_keys else name
    if len(plan) <= MOST_INLINE_KEYS:
        coded = hashed_rows.select("*", F.expr(_code_text(plan, hashed)).alias(of_key))
    else:
        coded = _join_codes(hashed_rows, plan, hashed, of_key)
    if plan.splits_keys:
        table = FragmentTable.of(plan)
        # Whole keys have a negative index here, for which the guide gives null.
        guided = coded.select("*", F.expr(_first_cut(table, code, row)).alias(first))
        lane = _lane_of_code(code, _lane_of_fragment(table, first, row))
        coded = guided.select("*", F.expr(lane).alias(name))
    return coded.drop(*added) if added else coded


def lay_out(df: DataFrame, lanes: int, lane: str | Column) -> DataFrame:
    """Send each row to the partition that its lane names.

    With a plain integer column `lane` among the grouping keys, what follows needs no second
    shuffle. Adaptive execution leaves the number of partitions alone.
    """
    column = F.col(quoted(lane)) if isinstance(lane, str) else lane
    return df.repartitionById(lane_count(lanes), column)


def unsigned_mod(key_hash: str, modulus: int) -> str:
    """Return `uint64(key_hash) mod modulus` of a signed long, all in SQL text."""
    wrapped = (1 << 64) % modulus
    signed = f"pmod({key_hash}, {modulus}L)"
    if wrapped == 0:
        return signed
    # A negative long stands for itself plus 2^64.
    return f"pmod({signed} + if({key_hash} < 0, {wrapped}L, 0L), {modulus}L)"


def _kept_apart(df: DataFrame) -> DataFrame:
    """Keep the optimiser from evaluating our tables row by row when `df` is local data.

    Spark evaluates projections of local data before it folds constants, and would parse a table
    once per row. A sort by a constant stands between and is removed once constants are folded.
    """
    return df.sortWithinPartitions(F.lit(""))


def _code_text(plan: Plan, key_hash: str) -> str:
    """Return the lane of a row's key, or -1 - i if it is the i-th split key of the plan."""
    tail = _tail_lane(plan, key_hash)
    if len(plan) == 0:
        return tail
    if len(plan) > MOST_INLINE_KEYS:
        raise InvalidArgument(
            f"a plan of {len(plan)} keys is too large for one expression, which holds "
            f"{MOST_INLINE_KEYS}; use with_lane, which joins it"
        )
    table = PerfectHash.of(plan.keys)
    bucket = f"({key_hash} & {table.displacement.size - 1}L)"
    upper = f"shiftrightunsigned({key_hash}, {table.shift})"
    slot = f"(({upper} ^ {_look_up(table.displacement, bucket)}) & {table.slots - 1}L)"
    at = table.slot_of(plan.keys)
    # An empty slot holds a key that stands elsewhere, so that no key of a row equals it here.
    keys = np.full(table.slots, plan.keys.view(np.int64)[0])
    codes = np.zeros(table.slots, dtype=np.int32)
    keys[at], codes[at] = plan.keys.view(np.int64), _codes(plan)
    return f"if({_look_up(keys, slot)} = {key_hash}, {_look_up(codes, slot)}, {tail})"


def _join_codes(df: DataFrame, plan: Plan, key_hash: str, name: str) -> DataFrame:
    key, found = spare_names([*df.columns, name], "key", "found")
    table = df.sparkSession.createDataFrame(
        pd.DataFrame({key: plan.keys.view(np.int64), found: _codes(plan)}),
        f"{key} long, {found} int",
    )
    joined = df.join(F.broadcast(table), F.expr(f"{key_hash} = {key}"), "left")
    code = F.expr(f"coalesce({found}, {_tail_lane(plan, key_hash)})")
    return joined.select("*", code.alias(name)).drop(key, found)


def _tail_lane(plan: Plan, key_hash: str) -> str:
    hosts = plan.hosts
    index = unsigned_mod(key_hash, hosts.size)
    if np.array_equal(hosts, np.arange(hosts.size)):
        return f"cast({index} AS int)"
    return _look_up(hosts, index)


def _codes(plan: Plan) -> NDArray[np.int32]:
    codes: NDArray[np.int32] = plan.lane_of[plan.starts[:-1]].astype(np.int32)
    split = np.diff(plan.starts) > 1
    codes[split] = -1 - np.arange(int(split.sum()), dtype=np.int32)
    return codes


def _given(row_hash: _Text | None) -> _Text:
    if row_hash is None:
        raise InvalidArgument("this plan splits keys; give the hash of the row as well")
    return row_hash


def _first_cut(table: FragmentTable, code: str, row_hash: str) -> str:
    cell = f"shiftrightunsigned({row_hash}, {64 - table.cell_bits})"
    return _look_up(table.guide, f"(-1 - {code}) * {1 << table.cell_bits} + {cell}")


def _lane_of_fragment(table: FragmentTable, first: str, row_hash: str) -> str:
    point = f"shiftrightunsigned({row_hash}, 32)"
    position = first
    for step in range(table.steps):
        cut = _look_up(table.cuts, f"{first} + {step}")
        position += f" + if({point} >= {cut}, 1, 0)"
    return _look_up(table.lanes, position)


def _lane_of_code(code: str, lane_of_fragment: str) -> str:
    return f"if({code} >= 0, {code}, {lane_of_fragment})"


def _look_up(values: NDArray[Any], index: str) -> str:
    kind = "int" if values.dtype == np.int32 else "bigint"
    # One string that the optimiser turns into an array literal: a thousand literals would be as
    # many nodes to analyse.
    array = f"cast(split('{','.join(map(str, values.tolist()))}', ',') AS array<{kind}>)"
    # `get` gives null outside of the array where `[]` would raise.
    return f"get({array}, cast({index} AS int))"
