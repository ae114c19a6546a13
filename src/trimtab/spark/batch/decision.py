"""Whether to act at all: what acting is expected to save, beside what it costs to find out.

Every step is taken only if the job is known to be much longer than the step: first what the
optimizer knows, which costs nothing; then a pilot of the function; then a first look at the keys;
and only then a count of them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from trimtab.control.virtual_workers import choose_lanes
from trimtab.spark.columns import KeyColumns
from trimtab.spark.counting.first_rows import FirstRows, first_rows_of, frame_rows
from trimtab.spark.counting.heads import Heads, heads_for
from trimtab.spark.counting.session_machines import machines_of
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.groups.pilot import pilot
from trimtab.spark.session_facts import cores_of, slots_of
from trimtab.spark.spark_text import plan_facts

SPARK, HASH, PLAN = "spark", "hash", "plan"
"""What is done: Spark's own plan; lanes by hash, nothing counted; lanes by a plan, keys counted."""

DEFAULT_PARTITIONER = "trim"

LONG = 3.0
"""Seconds that a job must be expected to take before anyone looks at its keys, which takes 0.1 s to
0.2 s: of a shorter one the look alone would be more than a twentieth."""

LONG_FUNCTION = 1.0
"""The same for a function of groups, of which a pilot has told what a row costs: hot keys that meet
on a lane may make a job of a second last three."""

FEW_ROWS = 10_000
"""Rows up to which all of them are looked at in place of a pilot, which starts Python in a task: a
plan from all rows is right whatever a row costs."""

LOPSIDED = 1.2
"""How many times as long as by a plan such a frame must take by hash."""

MARGIN = 2.0
"""How many times as much acting must save as it costs. Both are estimates."""

ROW_SECONDS = 1.2e-6
"""Seconds of a processor for a row that is moved and sorted, or written: an estimate from joins of
rows of three numbers. It sets the scale, and no more."""

COUNT_SECONDS = 0.3, 2e-7
"""Seconds for a count of the keys, and for each row of it and processor: estimates, too."""

PLAN_SECONDS = 0.1
"""Seconds for a plan from rows that have been looked at already: nothing is counted then."""

LANE_BYTES = float(1 << 27)
"""Bytes that a lane should hold at most: more lanes than slots only for frames that need them."""

LANES_PER_SLOT = 2
"""Lanes by hash for each slot, where the work may be long: the second one evens out what the hash
gave the first. Short work has one, since every task has to be started."""

MOST_LANES = 1 << 14


@dataclass(frozen=True)
class Decision:
    """What is done, from which figures, and what would change it; and how many lanes by hash.

    `heads` are the first rows of every partition, if they were looked at.
    """

    way: str
    reason: str
    to_change: str = ""
    lanes_per_slot: int = LANES_PER_SLOT
    heads: Heads | None = None

    def __str__(self) -> str:
        return self.reason + (f"; {self.to_change}" if self.to_change else "")


def default_lanes(df: DataFrame, per_slot: int = 1) -> int:
    """Return how many lanes a frame gets if nobody says: by task slots, and by its size."""
    size = plan_facts(df).bytes
    by_size = 0 if size is None else math.ceil(size / LANE_BYTES)
    slots = slots_of(df.sparkSession)
    by_machines = choose_lanes(slots, machines_of(df.sparkSession), per_slot * slots).lanes
    return min(max(by_machines, by_size), MOST_LANES)


def decide_function(
    keyed: KeyedFrame,
    method: str,
    func: Callable[..., Any] | None,
    *,
    may_pilot: bool,
    may_split: bool = False,
) -> Decision:
    """Decide how a function of each group is laid out.

    Parameters
    ----------
    keyed
        The frame with its key.
    method, func
        Spark's name of the call, and the user's function; None if it is not known yet.
    may_pilot
        Whether the function may be called with a few groups to see what a row costs.
    may_split
        Whether a plan may split keys, so that no lane must hold all of a hot one.
    """
    name_one = "name a partitioner or lanes to have the keys counted anyway"
    facts = plan_facts(keyed.df)
    if func is None or not may_pilot:
        told = "no function was given" if func is None else "pilot=False"
        return Decision(HASH, f"what a row of the function costs is not known ({told})", name_one)
    if not facts.quick:
        return Decision(
            HASH,
            "a look at the frame would compute it twice, since it is joined, aggregated or made in "
            "Python first",
            f"cache it, or {name_one}",
        )
    session = keyed.df.sparkSession
    slots, cores = slots_of(session), cores_of(session)
    rows = frame_rows(facts)
    seen = _few(keyed, slots) if rows <= FEW_ROWS else None
    if seen is not None and seen.whole:
        return _decide_few(seen, slots, name_one, may_split)
    cost = pilot(keyed, method, func)
    if cost is None:
        reason = "what a row of the function costs could not be told from its first groups"
        return Decision(HASH, reason, name_one)
    level = cost.seconds(rows, slots, cores)
    each = f"a row takes {1e6 * (cost.waits + cost.computes):,.3g} µs"
    about = f"{each}, and about {rows:,.0f} rows on {slots} slots {level:.2g} s"
    if level < LONG_FUNCTION:
        told = f"{about}; from {LONG_FUNCTION:g} s on the keys are looked at"
        return Decision(HASH, told, name_one, lanes_per_slot=1)
    heads = seen or heads_for(keyed.df, keyed.hash, slots)
    look = heads or first_rows_of(keyed.df, keyed.hash)
    assert look is not None
    lanes = LANES_PER_SLOT * slots
    hashed = lopsided(look, lanes, slots)
    best = 1.0 if may_split else max(1.0, look.hottest * slots)
    saved = level * (hashed - best)
    if heads is None:
        price = counting_seconds(rows, cores)
        priced = f"a count of the keys takes about {price:.2g} s"
    else:
        price = PLAN_SECONDS
        priced = f"a plan from the {look.hashes.size:,} rows that were looked at some {price:.2g} s"
    told = (
        f"{about} on level lanes; by hash {hashed:.2f} times as long, at best {best:.2f} times: "
        f"{max(saved, 0.0):.2g} s to save, and {priced}"
    )
    if saved > MARGIN * price:
        to_change = "partitioner='hash' lays rows out without a count"
        return Decision(PLAN, told, to_change, heads=heads)
    return Decision(HASH, told, f"{name_one}, or give a plan or histogram of an earlier run")


def _few(keyed: KeyedFrame, slots: int) -> Heads | None:
    """Look at the rows of a small frame; what fails is for the job itself to tell."""
    try:
        return heads_for(keyed.df, keyed.hash, slots)
    except (PySparkException, Py4JError):
        return None


def _decide_few(seen: Heads, slots: int, name_one: str, may_split: bool) -> Decision:
    """Decide for a frame of which all rows were looked at, whatever the function costs."""
    hashed = lopsided(seen, slots, slots)
    best = 1.0 if may_split else max(1.0, seen.hottest * slots)
    told = (
        f"all {seen.hashes.size:,} rows were looked at: on {slots} slots by hash {hashed:.2f} "
        f"times as long as on level lanes, at best {best:.2f} times"
    )
    if hashed > LOPSIDED * best:
        return Decision(PLAN, told, "partitioner='hash' lays rows out without a plan", heads=seen)
    return Decision(HASH, told, name_one, lanes_per_slot=1)


def decide_write(df: DataFrame, key: KeyColumns) -> Decision:
    """Decide whether a partitioned write counts its keys and splits the heavy ones."""
    name_one = "name a partitioner or lanes to have the rows laid out anyway"
    facts = plan_facts(df)
    session = df.sparkSession
    slots, cores = slots_of(session), cores_of(session)
    rows = frame_rows(facts)
    level = rows * ROW_SECONDS / cores
    about = f"about {rows:,.0f} rows on {slots} slots take some {level:.2g} s"
    look = first_rows_of(df, key.hash) if level >= LONG else None
    if look is None:
        told = (
            f"{about}; from {LONG:g} s on the keys of a frame that is quick to read are looked at"
        )
        return Decision(SPARK, told, name_one)
    hashed = lopsided(look, slots, cores)
    saved, counting = level * (hashed - 1.0), counting_seconds(rows, cores)
    told = (
        f"{about}; by hash {hashed:.2f} times as long as on level lanes: {max(saved, 0.0):.2g} s "
        f"to save, and a count of the keys takes about {counting:.2g} s"
    )
    acts = saved > MARGIN * counting
    return Decision(PLAN, told) if acts else Decision(SPARK, told, name_one)


def counting_seconds(rows: float, cores: int) -> float:
    """Return how long a count of the keys is expected to take."""
    once, each = COUNT_SECONDS
    return once + each * rows / cores


def lopsided(look: FirstRows, lanes: int, slots: int) -> float:
    """Return how many times as long hashed lanes take as level ones, one task after the other.

    What noise alone would give is taken off: of few rows the fullest lane always looks fuller than
    it is.
    """
    if not look.hashes.size:
        return 1.0
    loads = np.bincount((look.hashes % np.uint64(lanes)).astype(np.int64), minlength=lanes)
    took = makespan(loads.astype(np.float64), slots) / (look.hashes.size / slots)
    noise = 0.0 if look.whole else math.sqrt(slots / look.hashes.size)
    return max(took - noise, 1.0)


def makespan(loads: NDArray[np.float64], slots: int) -> float:
    """Return when the last task ends, if each slot takes the next one in order as it gets free.

    >>> makespan(np.array([3.0, 1.0, 1.0, 2.0]), slots=2)
    4.0
    """
    ends = [0.0] * slots
    for load in loads.tolist():
        heapq.heapreplace(ends, ends[0] + load)
    return max(ends)
