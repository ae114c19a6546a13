"""Whether a new plan is worth the state that it would move."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from trimtab import metrics
from trimtab._checks import real, whole
from trimtab._format import Format
from trimtab.control.migration import trimmed
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.histogram import Histogram
from trimtab.plan import Plan

_FORMAT = Format("trimtab.repartitioner", 2, "the state of a repartitioner")

_HALVINGS = 12
"""How often a part of a candidate that moves too many keys is halved before it is given up."""


@dataclass(frozen=True)
class Decision:
    """What to do before the next batch, and why.

    Attributes
    ----------
    change
        Whether to leave the running plan.
    plan
        The plan to use from now on: the running plan, the candidate, or what the budget allows of
        the candidate.
    reason
        One sentence for people.
    gain
        By how much `max/mean` falls per batch, in level batch times; may be negative.
    cost
        What the move costs once, in level batch times.
    moved
        Share of the state that moves, in 0..1.
    """

    change: bool
    plan: Plan
    reason: str
    gain: float
    cost: float
    moved: float


class Repartitioner:
    """Decide after each batch whether the candidate plan replaces the running one.

    The unit of time is the level batch: what a batch takes when all lanes are equally loaded, so
    that a batch under a plan takes `max/mean`. The plan changes when

        `gain >= least_gain + noise`  and  `gain x horizon > move_cost x moved`

    where `gain` is how much `max/mean` falls, on the newest histogram or on average over the
    remembered ones, whichever is less. On a stationary stream no further gain passes the first
    test once a good plan runs, so it settles; after a drift the remembered histograms fill with
    the new keys within `memory` batches, and the plan follows. A burst of one batch moves nothing
    once `memory` batches have been seen.

    Parameters
    ----------
    least_gain
        Fall of `max/mean` below which nothing is changed, 0 or more. Raising it makes plans live
        longer and lanes less level.
    horizon
        Batches over which a change has to pay for itself, more than 0. Raising it accepts costlier
        moves.
    move_cost
        Time to move all state once, in level batch times, 0 or more.
    budget
        Share of the state that may move in one change, in (0, 1]. Of a candidate that wants more,
        only the moves that help most are made, and the rest is left to later changes. Where keys
        stay whole, a key heavier than the budget never moves.
    memory
        Histograms that are remembered, 1 or more. Raising it resists bursts and delays following.
    keys
        Number of keys that have a state, 1 or more: a key's state then weighs as much as any
        other's, however busy the key is. By default a state weighs what its key weighs.

    Examples
    --------
    >>> busy = Histogram.from_counts({0: 50.0, 2: 40.0, 1: 10.0})
    >>> judge = Repartitioner(least_gain=0.1)
    >>> decision = judge.decide(Plan(2), Plan(2, {2: 1}), busy)
    >>> decision.change, round(decision.gain, 2), round(decision.moved, 2)
    (True, 0.8, 0.4)
    >>> judge.decide(decision.plan, Plan(2, {2: 1, 1: 0}), busy).reason
    'keep: max/mean would not fall'

    References
    ----------
    Dynamic Repartitioning, Section 3 (gains must exceed the cost of moving state; past histograms
    are kept so that a plan is useful in the long run).

    Notes
    -----
    The paper gives no formula; this one is ours. `noise = sqrt(2 ln(lanes) / rows per lane)` is
    what chance alone puts on the fullest of equal lanes: a plan fitted to a small batch always
    looks better on that batch than a plan fitted to the one before. Bytes and seconds are not
    counts; for them the noise is taken as 0. A candidate for another number of lanes is not
    weighed: the running plan cannot go on, and all that has to move does, whatever the budget. Of a
    change that the budget cuts down to a part, the same part of the least gain is asked.
    """

    def __init__(
        self,
        least_gain: float = 0.05,
        horizon: float = 10.0,
        move_cost: float = 1.0,
        budget: float = 1.0,
        memory: int = 3,
        keys: int | None = None,
    ) -> None:
        self.least_gain = real("least_gain", least_gain, 0)
        self.horizon = real("horizon", horizon, 0, low_open=True)
        self.move_cost = real("move_cost", move_cost, 0)
        self.budget = real("budget", budget, 0, 1, low_open=True)
        self.memory = whole("memory", memory, 1)
        self.keys = None if keys is None else whole("keys", keys, 1)
        self._past: deque[Histogram] = deque(maxlen=self.memory)

    def decide(
        self,
        running: Plan,
        candidate: Plan,
        histogram: Histogram,
        capacities: ArrayLike | None = None,
    ) -> Decision:
        """Say whether `candidate` takes over; `histogram` is that of the batch just seen.

        With `capacities`, the relative speed of each lane, loads count in relation to them.
        """
        for name, value, kind in (
            ("running", running, Plan),
            ("candidate", candidate, Plan),
            ("histogram", histogram, Histogram),
        ):
            if not isinstance(value, kind):
                raise InvalidArgument(
                    f"{name} must be a trimtab.{kind.__name__}; got {type(value).__name__}"
                )
        self._past.append(histogram)
        state = histogram.merge(*list(self._past)[:-1]) if len(self._past) > 1 else histogram
        if running.lanes != candidate.lanes:
            moved = self._moved(running, candidate, state)
            reason = f"change: the lanes go from {running.lanes} to {candidate.lanes}"
            return Decision(True, candidate, reason, 0.0, self.move_cost * moved, moved)
        first = self._weighed(running, candidate, state, capacities)
        if not first.change or first.moved <= self.budget:
            return first
        part = self.budget / first.moved
        made = self._within_budget(running, candidate, state)
        partly = self._weighed(running, made, state, capacities, part)
        if partly.change:
            reason = (
                f"{partly.reason}; the whole candidate would move {first.moved:.1%}, more than the "
                f"budget of {self.budget:.1%}"
            )
            return Decision(True, partly.plan, reason, partly.gain, partly.cost, partly.moved)
        reason = (
            f"keep: the candidate moves {first.moved:.1%} of the state, and what the budget of "
            f"{self.budget:.1%} allows of it is not worth a change"
        )
        return Decision(False, running, reason, first.gain, first.cost, first.moved)

    def _moved(self, running: Plan, candidate: Plan, state: Histogram) -> float:
        """Return the share of the state that moves, by its weight or by keys."""
        if self.keys is None:
            return running.moved(candidate, state)
        named = np.union1d(running.keys, candidate.keys)
        ones = np.ones(named.size)
        each = Histogram(named, ones, float(max(self.keys, named.size)), self.keys)
        return running.moved(candidate, each)

    def _within_budget(self, running: Plan, candidate: Plan, state: Histogram) -> Plan:
        """Return what the budget allows of a candidate."""
        allowed = self.budget
        # What is light may be many keys: then less of it may go.
        for _ in range(_HALVINGS):
            made = trimmed(running, candidate, state, allowed)
            if self._moved(running, made, state) <= self.budget:
                return made
            allowed /= 2
        return running

    def _weighed(
        self,
        running: Plan,
        candidate: Plan,
        state: Histogram,
        capacities: ArrayLike | None,
        part: float = 1.0,
    ) -> Decision:
        """Weigh one plan against another; `part` is how much of a whole change it makes."""
        now = [metrics.max_over_mean(running.loads(h), capacities) for h in self._past]
        then = [metrics.max_over_mean(candidate.loads(h), capacities) for h in self._past]
        gains = [a - b for a, b in zip(now, then, strict=True)]
        gain = min(gains[-1], sum(gains) / len(gains))
        moved = self._moved(running, candidate, state)
        cost = self.move_cost * moved
        needed = part * (self.least_gain + _noise(self._past[-1], running.lanes))
        if gain <= 0:
            reason = "keep: max/mean would not fall"
            if gains[-1] > 0:
                reason += f" over the last {len(gains)} batches, only on the newest"
        elif gain < needed:
            reason = f"keep: max/mean would fall by {gain:.3f}, less than the {needed:.3f} needed"
        elif gain * self.horizon <= cost:
            reason = (
                f"keep: moving {moved:.1%} of the state costs {cost:.2f} level batches, and "
                f"{self.horizon:g} batches would win back {gain * self.horizon:.2f}"
            )
        else:
            reason = (
                f"change: max/mean falls from {now[-1]:.2f} to {then[-1]:.2f}, and moving "
                f"{moved:.1%} of the state is paid back after {cost / gain:.1f} batches"
            )
            return Decision(True, candidate, reason, gain, cost, moved)
        return Decision(False, running, reason, gain, cost, moved)

    def state(self) -> dict[str, Any]:
        """Return the parameters and the remembered histograms, as JSON values."""
        return {
            **_FORMAT.head(),
            "parameters": {
                "least_gain": self.least_gain,
                "horizon": self.horizon,
                "move_cost": self.move_cost,
                "budget": self.budget,
                "memory": self.memory,
                "keys": self.keys,
            },
            "values": {"past": [histogram.to_json() for histogram in self._past]},
            "arrays": {},
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Make a repartitioner that goes on exactly where the one that gave `state` stood."""
        _FORMAT.check(state, "the given state")
        try:
            made = cls(**state["parameters"])
            for text in state["values"]["past"]:
                made._past.append(Histogram.from_json(text, "a remembered histogram"))
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptState(f"state of a repartitioner is damaged: {error}") from error
        return made


def _noise(histogram: Histogram, lanes: int) -> float:
    if histogram.unit != "rows" or histogram.total <= 0:
        return 0.0
    return math.sqrt(2.0 * math.log(lanes) * lanes / histogram.total)
