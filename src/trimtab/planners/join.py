"""Planning a skewed join: whose rows of a hot key are split, and whose are copied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import lane_count, one_of
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners.trim import TrimPlanner

SPLITTABLE = {
    "inner": (True, True),
    "left_outer": (True, False),
    "right_outer": (False, True),
    "full_outer": (True, True),
    "left_semi": (True, False),
    "left_anti": (True, False),
}
"""For each kind of join, whether rows of the left and of the right side may be split. The rows of
the other side are then copied to every lane of the key. That must not change the result: if a join
keeps all rows of a side, a copied row of it would come out once per lane."""

MIN_ROWS_PER_PIECE = 2
"""A side with fewer rows of a key than this per lane cannot be spread over those lanes."""


@dataclass(frozen=True)
class JoinPlan:
    """Where the rows of both sides go.

    Attributes
    ----------
    plan
        The lanes of every key; a split key's lanes are its fragments.
    split_left, split_right
        Split keys whose left (right) rows are divided among the lanes, and whose right (left) rows
        are copied to each of them. No key is in both.
    work
        Estimated work by key: rows read on both sides plus pairs given out.
    """

    plan: Plan
    split_left: NDArray[np.uint64]
    split_right: NDArray[np.uint64]
    work: Histogram

    @property
    def max_over_mean(self) -> float:
        """Expected work of the heaviest lane over the mean."""
        loads = self.plan.loads(self.work)
        return float(loads.max() / loads.mean()) if loads.mean() > 0 else 1.0

    @property
    def hash_max_over_mean(self) -> float:
        """Work of the heaviest lane over the mean, if plain hashing placed the keys."""
        loads = Plan(self.plan.lanes).loads(self.work)
        return float(loads.max() / loads.mean()) if loads.mean() > 0 else 1.0


def plan_join(left: Histogram, right: Histogram, lanes: int, how: str = "inner") -> JoinPlan:
    """Plan a join from what is known of both sides' keys.

    A key's work is `l + r + l x r` for l left and r right rows: with many rows on both sides the
    pairs dominate. A key whose work exceeds a lane's share is split over as many lanes as its work
    asks for, on the side that the kind of join allows and that has more rows of it.

    Parameters
    ----------
    left, right
        Heavy keys of both sides, by rows.
    lanes
        Number of lanes, 1 or more.
    how
        One of the keys of `SPLITTABLE`.

    Examples
    --------
    >>> facts = Histogram.from_counts({1: 600.0, **dict.fromkeys(range(2, 402), 1.0)})
    >>> names = Histogram.from_counts(dict.fromkeys(range(1, 402), 1.0))
    >>> made = plan_join(facts, names, lanes=4)
    >>> made.split_left.tolist(), len(made.plan.fragments(1)), made.split_right.tolist()
    ([1], 2, [])
    """
    lanes = lane_count(lanes)
    may_left, may_right = SPLITTABLE[one_of("how", how, tuple(SPLITTABLE))]
    keys = np.union1d(left.hashes, right.hashes)
    rows_left, rows_right = _rows(left, keys), _rows(right, keys)
    work = _work(left, right, keys, rows_left, rows_right)
    plan = TrimPlanner(lanes).plan(work)
    by_left = (rows_left >= rows_right) if may_right else np.ones(keys.size, dtype=bool)
    by_left &= may_left
    divided = np.where(by_left, rows_left, rows_right)
    # Only what was really seen is divided: where there are no rows, nothing is gained.
    seen = np.where(by_left, np.isin(keys, left.hashes), np.isin(keys, right.hashes))
    divided = np.where(seen, divided, 0.0)
    places: dict[int, list[tuple[int, float]]] = {}
    split_left: list[int] = []
    split_right: list[int] = []
    where = np.searchsorted(keys, plan.keys)
    for at, (key, fragments) in zip(where, plan.all_fragments().items(), strict=True):
        if len(fragments) > 1 and divided[at] < MIN_ROWS_PER_PIECE * len(fragments):
            fragments = [(fragments[0][0], 1.0)]
        places[key] = fragments
        if len(fragments) > 1:
            (split_left if by_left[at] else split_right).append(key)
    return JoinPlan(
        Plan(lanes, places, plan.hosts, "join"),
        np.array(split_left, dtype=np.uint64),
        np.array(split_right, dtype=np.uint64),
        work,
    )


def _rows(side: Histogram, keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the rows of each key on one side; an unknown key has what its tail has on average."""
    unknown = max(side.distinct - len(side), 0)
    rows = np.full(keys.size, side.tail_weight / unknown if unknown else 0.0)
    rows[np.searchsorted(keys, side.hashes)] = side.weights
    return rows


def _work(
    left: Histogram,
    right: Histogram,
    keys: NDArray[np.uint64],
    rows_left: NDArray[np.float64],
    rows_right: NDArray[np.float64],
) -> Histogram:
    weights = rows_left + rows_right + rows_left * rows_right
    rest_left = max(left.total - float(rows_left.sum()), 0.0)
    rest_right = max(right.total - float(rows_right.sum()), 0.0)
    rest_keys = max(left.distinct, right.distinct) - keys.size
    pairs = rest_left * rest_right / rest_keys if rest_keys > 0 else 0.0
    total = float(weights.sum()) + rest_left + rest_right + pairs
    return Histogram.from_counts(
        (keys, weights),
        total=total,
        distinct=keys.size + max(rest_keys, 0),
        labels={**left.labels, **right.labels},
        # Work is neither rows nor bytes; it is closest to seconds, and no row noise applies to it.
        unit="seconds",
    )
