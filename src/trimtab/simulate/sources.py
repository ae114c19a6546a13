"""Who routes: one plan, or several sources with a router each that may learn together."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import whole
from trimtab.control.q_sync import GlobalTable, QTableReducer
from trimtab.control.repartitioner import Repartitioner
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners import Planner
from trimtab.routers import Router
from trimtab.routers.cg import CgRouter
from trimtab.routers.dalton import DaltonRouter

Partitioner = Router | Plan | Planner


class Sources:
    """The sources of a stream: each has a router of its own, and gets every s-th tuple.

    Parameters
    ----------
    partitioner
        One router per source; or a plan, or a planner, which all sources share.
    cooperation
        Merges the messages of cooperating `dalton` routers; needed by them, and only by them.
    answer_slots
        Time slots that the answer to a round of messages takes, 0 or more; it may be changed while
        the stream runs. The reducer is told how long it has worked and how long it has waited.
    repartitioner
        Decides whether a planner's new plan is used; by default it always is.
    exact
        Whether a slot is a batch that is counted before it is routed: planners plan from it, as
        Prompt does, and routers that heed counts are told. Otherwise a plan is made from the slot
        before, and the first slot is hashed.

    Examples
    --------
    >>> from trimtab import router
    >>> pair = Sources([router("pkg", lanes=4, seed=1), router("pkg", lanes=4, seed=1)])
    >>> pair.route(np.arange(6, dtype=np.uint64)).size, pair.name
    (6, 'pkg')

    References
    ----------
    Consistent Grouping, Figure 3 (independent sources); Dalton, Section 4.1 (cooperation).
    """

    def __init__(
        self,
        partitioner: Partitioner | Sequence[Router],
        *,
        cooperation: QTableReducer | None = None,
        answer_slots: int = 0,
        repartitioner: Repartitioner | None = None,
        exact: bool = False,
    ) -> None:
        self.routers: tuple[Router, ...] = ()
        self._planner: Planner | None = None
        self._plan: Plan | None = None
        if isinstance(partitioner, Plan):
            self._plan = partitioner
            self.name, self.lanes = partitioner.maker or "plan", partitioner.lanes
        elif isinstance(partitioner, Planner):
            self._planner, self._plan = partitioner, Plan(partitioner.lanes)
            self.name, self.lanes = partitioner.name, partitioner.lanes
        else:
            given = [partitioner] if isinstance(partitioner, Router) else partitioner
            self.routers = _alike(given)
            self.name, self.lanes = self.routers[0].name, self.routers[0].lanes
        if repartitioner is not None and self._planner is None:
            raise InvalidArgument("a repartitioner judges the plans of a planner; give a planner")
        self._repartitioner = repartitioner
        self._exact = exact
        self._moved = 0.0
        self._learners = _cooperating(self.routers, cooperation)
        self._cooperation = cooperation
        self.answer_slots = whole("answer_slots", answer_slots, 0)
        self._last_round = 0
        self._answers: deque[tuple[int, GlobalTable]] = deque()
        self._slot = 0

    @property
    def plan(self) -> Plan | None:
        """The plan in force, where there is one."""
        return self._plan

    @property
    def interval(self) -> int:
        """Tuples between two messages of a cooperating source; 0 where nobody cooperates."""
        return 0 if self._cooperation is None else self._cooperation.interval

    def route(self, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the lanes of a slot's tuples, dealt to the sources in turn."""
        if self._planner is not None and self._exact:
            self._plan_from(hashes)
        if self._plan is not None:
            return self._plan.route(hashes)
        if self._exact and self.routers[0].heeds_counts:
            counted = Histogram.from_hashes(hashes)
            for router in self.routers:
                router.expect(counted)
        count = len(self.routers)
        if count == 1:
            return self.routers[0].route(hashes)
        lanes = np.empty(hashes.size, dtype=np.int32)
        for number, router in enumerate(self.routers):
            lanes[number::count] = router.route(np.ascontiguousarray(hashes[number::count]))
        return lanes

    def end_slot(self, hashes: NDArray[np.uint64], advance: bool = True) -> None:
        """Let a slot end: routers exchange messages and advance, a planner makes its next plan."""
        if self._planner is not None and not self._exact:
            self._plan_from(hashes)
        if self._cooperation is not None:
            self._synchronise(self._cooperation)
        if advance:
            for router in self.routers:
                router.advance()
        self._slot += 1

    def moved(self) -> float:
        """Return the share of the weight that changes of plan moved since this was last asked."""
        moved, self._moved = self._moved, 0.0
        return moved

    def delegate(self, signals: ArrayLike) -> int:
        """Pass the lanes' signals on to every source; say how many virtual workers were moved."""
        return sum(r.delegate(signals) for r in self.routers if isinstance(r, CgRouter))

    def _plan_from(self, hashes: NDArray[np.uint64]) -> None:
        assert self._planner is not None
        assert self._plan is not None
        counted = Histogram.from_hashes(hashes, hosts=self._planner.hosts or None)
        following = self._planner.plan(counted, self._plan, exact=self._exact)
        if self._repartitioner is not None:
            following = self._repartitioner.decide(self._plan, following, counted).plan
        self._moved += self._plan.moved(following, counted)
        self._plan = following

    def _synchronise(self, reducer: QTableReducer) -> None:
        while self._answers and self._answers[0][0] <= self._slot:
            _, table = self._answers.popleft()
            for learner in self._learners:
                learner.receive(table)
        if all(learner.sync_due for learner in self._learners):
            messages = [learner.sync_message() for learner in self._learners]
            worked = float(self.answer_slots)
            idle = max(0.0, self._slot - self._last_round - worked)
            self._last_round = self._slot
            table = reducer.merge(messages, idle, worked)
            self._answers.append((self._slot + self.answer_slots, table))
            if self.answer_slots == 0:
                self._synchronise(reducer)


def _alike(routers: Sequence[Router]) -> tuple[Router, ...]:
    given = tuple(routers)
    if not given or not all(isinstance(router, Router) for router in given):
        raise InvalidArgument(
            "a stream needs a router, a plan, a planner, or one router per source; got "
            f"{[type(router).__name__ for router in given]}"
        )
    kinds = {(router.name, router.lanes) for router in given}
    if len(kinds) > 1:
        raise InvalidArgument(
            f"the routers of all sources must be of one kind and number of lanes; got {kinds}"
        )
    return given


def _cooperating(
    routers: tuple[Router, ...], reducer: QTableReducer | None
) -> tuple[DaltonRouter, ...]:
    learners = tuple(r for r in routers if isinstance(r, DaltonRouter) and r.cooperate)
    if bool(learners) != (reducer is not None):
        raise InvalidArgument(
            "cooperation is for `dalton` routers made with cooperate=True, which need it; got "
            f"{len(learners)} of them and cooperation={reducer!r}"
        )
    return learners
