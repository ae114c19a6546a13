"""Hot keys of a join cut into pieces: the rest goes through Spark's own join, as always."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame

from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners.join import JoinPlan, plan_join
from trimtab.spark.batch.decision import LONG, MARGIN, ROW_SECONDS
from trimtab.spark.batch.join_keys import JoinKeys
from trimtab.spark.counting.first_rows import first_rows_of, frame_rows
from trimtab.spark.session_facts import cores_of
from trimtab.spark.spark_text import JoinFacts

PIECES_PER_LANE = 2
"""Pieces for each lane that a hot key would get: pieces are placed by hash, and two may meet."""

PRICE = 0.15
"""What pieces cost, as a share of the join: a hash and a look-up for each row of both sides."""


@dataclass(frozen=True)
class HotPieces:
    """Which keys of a join are cut into pieces, None if none is, and why."""

    made: JoinPlan | None
    why: str


def pieces_of_hot_keys(
    left: DataFrame, right: DataFrame, facts: JoinFacts, keys: JoinKeys, kind: str
) -> HotPieces:
    """Decide whether keys of a join are so hot that they are cut into pieces.

    Parameters
    ----------
    left, right, facts
        The two sides, and what is known of them.
    keys, kind
        What must be equal, and the kind of join.
    """
    if facts.plain.broadcasts:
        reason = "it sends the smaller side to every task, so that no key is hot"
        return HotPieces(None, reason)
    to_change = "give lanes to have both sides counted and laid out anyway"
    if kind == "full_outer":
        reason = "a full join whose keys are in pieces reads both sides again"
        return HotPieces(None, f"{reason}; {to_change}")
    sides = facts.left, facts.right
    cores = cores_of(left.sparkSession)
    rows = sum(map(frame_rows, sides))
    level = rows * ROW_SECONDS / cores
    about = f"about {rows:,.0f} rows on {cores} processors take some {level:.2g} s"
    if level < LONG or not all(side.quick for side in sides):
        told = f"{about}; from {LONG:g} s on sides that are quick to read are looked at"
        return HotPieces(None, f"{told}; {to_change}")
    seen = [
        first_rows_of(df.where(~side.has_null), side.hash)
        for df, side in ((left, keys.left), (right, keys.right))
    ]
    known = [look.histogram for look in seen if look is not None]
    if len(known) < 2:
        return HotPieces(None, f"one side is not quick to look at; {to_change}")
    return _weighed(known[0], known[1], cores, kind, about, to_change)


def _weighed(
    left: Histogram, right: Histogram, cores: int, kind: str, about: str, to_change: str
) -> HotPieces:
    made = plan_join(left, right, cores, kind)
    seconds = made.work.total * ROW_SECONDS / cores
    saved = seconds * (made.hash_max_over_mean - made.max_over_mean)
    price = PRICE * seconds
    told = (
        f"{about}; with the pairs that come out {seconds:.2g} s, if all were level; by hash "
        f"{made.hash_max_over_mean:.2f} times as long: {max(saved, 0.0):.2g} s to save, and pieces "
        f"cost about {price:.2g} s"
    )
    if not made.plan.splits_keys or saved <= MARGIN * price:
        return HotPieces(None, f"{told}; {to_change}")
    return HotPieces(in_pieces(made), told)


def in_pieces(made: JoinPlan) -> JoinPlan:
    """Return a plan whose lanes are the pieces of its split keys; all other keys are in the first.

    >>> facts = Histogram.from_counts({1: 600.0, **dict.fromkeys(range(2, 402), 1.0)})
    >>> names = Histogram.from_counts(dict.fromkeys(range(1, 402), 1.0))
    >>> cut = in_pieces(plan_join(facts, names, lanes=4)).plan
    >>> len(cut.fragments(1)), cut.fragments(2), cut.route(np.array([5], dtype=np.uint64)).tolist()
    (4, [(0, 1.0)], [0])
    """
    pieces: dict[int, list[tuple[int, float]]] = {}
    for key, fragments in made.plan.all_fragments().items():
        count = PIECES_PER_LANE * len(fragments)
        if len(fragments) > 1:
            pieces[key] = [(piece, 1.0 / count) for piece in range(count)]
    most = max(map(len, pieces.values()), default=1)
    plan = Plan(most, pieces, np.zeros(1, dtype=np.int32), "pieces")
    return JoinPlan(plan, made.split_left, made.split_right, made.work)
