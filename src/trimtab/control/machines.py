"""How fast each machine is, from how long lanes took on it; and why a lane took longest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import CorruptState, InvalidArgument

NEWEST = 0.6
"""Weight of the newest batch in what is known of a machine: three tell all but a sixteenth."""

STEP, NEWEST_OF_STEP = 1.5, 0.9
"""From which factor on a machine has changed, and the weight of the batch that shows it: what is
noise does not differ by half, and every batch that is planned by old speeds is a slow one."""

FORGOTTEN = 20
"""Batches after which a machine that no lane ran on is forgotten: it has left, or it is new again
when it comes back."""

STRAGGLES = 1.25
"""How many times the mean lane's seconds a lane must take to be called a straggler."""

SHORTEST = 0.05
"""Seconds below which nobody waits for a lane, however long the others take."""

HOT, SLOW, COSTLY = "hot key", "slow machine", "costly rows"
"""Why a lane straggles: it has more rows; its machine is slower; its rows take longer."""


@dataclass(frozen=True, eq=False)
class LaneTimes:
    """When each lane of a batch was worked on, and where.

    Attributes
    ----------
    rows
        Rows of each lane.
    starts, ends
        When its task began and ended, in seconds of its machine's clock; NaN where nobody has
        measured it, for instance because the lane had no rows.
    executors
        Name of the executor, as `address/id`; "" where it is not known.
    """

    rows: NDArray[np.float64]
    starts: NDArray[np.float64]
    ends: NDArray[np.float64]
    executors: tuple[str, ...]

    def __post_init__(self) -> None:
        sizes = {self.rows.size, self.starts.size, self.ends.size, len(self.executors)}
        if len(sizes) != 1:
            raise InvalidArgument(f"lane times must have one figure per lane; got sizes {sizes}")

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Seconds that each lane took; NaN where nobody has measured it."""
        return np.maximum(self.ends - self.starts, 0.0)

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Which lanes were measured."""
        known = np.array([bool(name) for name in self.executors], dtype=np.bool_)
        return known & np.isfinite(self.starts) & np.isfinite(self.ends)

    def slots(self) -> dict[str, int]:
        """Return how many lanes each executor has worked on at once, at most."""
        return {name: _overlap(self.starts[at], self.ends[at]) for name, at in self._by_executor()}

    def task_seconds(self) -> float | None:
        """Return the seconds between two tasks on one slot; None if no slot had two.

        A task that does not begin with the first ones of its executor follows another that has
        ended. The median is taken, since a slot may also have waited for a task to be there.
        """
        gaps: list[float] = []
        for _, at in self._by_executor():
            starts, ends = np.sort(self.starts[at]), np.sort(self.ends[at])
            first = _overlap(starts, ends)
            # The k-th task that follows needs the k-th end: before that no slot was free.
            gaps += (starts[first:] - ends[: starts.size - first]).tolist()
        return max(0.0, float(np.median(gaps))) if gaps else None

    def slowness(self) -> dict[str, float]:
        """Return the seconds that a row takes on each executor, over those on the middle one.

        A row's seconds on an executor are the median over its lanes, each lane counted by its rows:
        one lane whose keys are costly does not make its machine slow.
        """
        costs = {}
        for name, at in self._by_executor():
            rows = self.rows[at]
            if rows.sum() > 0:
                at, rows = at[rows > 0], rows[rows > 0]
                costs[name] = _weighted_median(self.seconds[at] / rows, rows)
        if not costs:
            return {}
        middle = sorted(costs.values())[(len(costs) - 1) // 2]
        return {name: cost / middle if middle > 0 else 1.0 for name, cost in costs.items()}

    def work(self) -> float | None:
        """Return the seconds of all lanes on a machine like the middle one; None if unmeasured."""
        slowness = self.slowness()
        if not slowness:
            return None
        each = [
            float(self.seconds[lane]) / max(slowness.get(self.executors[lane], 1.0), 1e-6)
            for lane in np.flatnonzero(self.measured)
        ]
        return sum(each)

    def _by_executor(self) -> list[tuple[str, NDArray[np.intp]]]:
        names, known = np.array(self.executors), self.measured
        return [
            (str(name), np.flatnonzero(known & (names == name))) for name in np.unique(names[known])
        ]


@dataclass(frozen=True)
class Straggler:
    """A lane that others waited for.

    Attributes
    ----------
    lane, seconds
        The lane, and how long it took.
    over
        How many times as long as the mean lane, for its share of the rows.
    cause
        "hot key" if it had more rows, "slow machine" if rows take longer on its machine, "costly
        rows" if its own rows take longer.
    executor
        Where it ran.
    """

    lane: int
    seconds: float
    over: float
    cause: str
    executor: str


def stragglers(times: LaneTimes, shares: Sequence[float] = (), most: int = 5) -> list[Straggler]:
    """Return the lanes that others waited for, the slowest first, each with its cause.

    A lane's time is a product: of its rows, of its machine's seconds per row, and of what its rows
    cost beyond that. The largest of the three factors, each over its mean, is the cause. Where
    lanes are meant to have unequal shares of the rows, each is measured by its own.

    Examples
    --------
    >>> times = LaneTimes(
    ...     rows=np.array([100.0, 100.0, 300.0, 100.0]),
    ...     starts=np.zeros(4),
    ...     ends=np.array([1.0, 1.0, 3.0, 2.5]),
    ...     executors=("10.0.0.1/0", "10.0.0.2/1", "10.0.0.1/0", "10.0.0.3/2"),
    ... )
    >>> [(one.lane, one.cause, one.executor) for one in stragglers(times)]
    [(2, 'hot key', '10.0.0.1/0'), (3, 'slow machine', '10.0.0.3/2')]
    """
    known = np.flatnonzero(times.measured & (times.rows > 0))
    if known.size < 2:
        return []
    seconds, rows = times.seconds[known], times.rows[known]
    slowness = times.slowness()
    slow = np.array([slowness[times.executors[lane]] for lane in known])
    if shares:
        meant = np.asarray(shares, dtype=np.float64)[known]
        seconds, rows = seconds / meant, rows / meant
    mean, mean_rows = float(seconds.mean()), float(rows.mean())
    found = []
    for i in np.argsort(-seconds, kind="stable")[:most]:
        over = float(seconds[i]) / mean if mean > 0 else 1.0
        lane = int(known[i])
        took = float(times.seconds[lane])
        if over < STRAGGLES or took < SHORTEST:
            break
        by_rows, by_machine = float(rows[i]) / mean_rows, float(slow[i])
        factors = {HOT: by_rows, SLOW: by_machine, COSTLY: over / (by_rows * by_machine)}
        cause = max(factors, key=lambda name: factors[name])
        found.append(Straggler(lane, took, over, cause, times.executors[lane]))
    return found


@dataclass(frozen=True)
class Machines:
    """What is known of a cluster's machines after some batches.

    Attributes
    ----------
    slowness
        Seconds that a row takes on each executor, over those on the middle one; smoothed.
    slots
        Lanes that each executor works on at once.
    task_seconds
        Seconds between two tasks on one slot; None before any slot had two.
    unseen
        For each executor, batches since a lane ran on it.
    work
        Seconds that the lanes of a batch take together on a machine like the middle one; smoothed.

    Examples
    --------
    >>> times = LaneTimes(
    ...     rows=np.full(4, 100.0),
    ...     starts=np.zeros(4),
    ...     ends=np.array([1.0, 1.0, 1.0, 4.0]),
    ...     executors=("a/0", "b/1", "c/2", "d/3"),
    ... )
    >>> known = Machines().after(times)
    >>> round(known.slowness["d/3"], 2), round(known.after(times).slowness["d/3"], 2)
    (3.48, 3.78)
    """

    slowness: Mapping[str, float] = field(default_factory=dict)
    slots: Mapping[str, int] = field(default_factory=dict)
    task_seconds: float | None = None
    unseen: Mapping[str, int] = field(default_factory=dict)
    work: float | None = None

    def after(self, times: LaneTimes) -> Machines:
        """Return what is known after one more batch.

        What is smoothed is the logarithm, so that twice as slow and twice as fast weigh the same; a
        machine starts as one like the others. One that has become another one, by a factor of
        `STEP` or more, is known from its first batch on.
        """
        newest, used = times.slowness(), times.slots()
        unseen = {name: count + 1 for name, count in self.unseen.items()} | dict.fromkeys(newest, 0)
        kept = {name for name, count in unseen.items() if count <= FORGOTTEN}
        slowness = {name: one for name, one in self.slowness.items() if name in kept}
        for name, one in newest.items():
            before = math.log(slowness.get(name, 1.0))
            now = math.log(max(one, 1e-6))
            weight = NEWEST_OF_STEP if abs(now - before) > math.log(STEP) else NEWEST
            slowness[name] = math.exp((1 - weight) * before + weight * now)
        slots = {name: max(self.slots.get(name, 1), used.get(name, 1)) for name in slowness}
        return Machines(
            slowness,
            slots,
            _smoothed(self.task_seconds, times.task_seconds()),
            {name: unseen[name] for name in slowness},
            _smoothed(self.work, times.work()),
        )

    def state(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "slowness": dict(self.slowness),
            "slots": dict(self.slots),
            "task_seconds": self.task_seconds,
            "unseen": dict(self.unseen),
            "work": self.work,
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Read what `state` returned."""
        try:
            return cls(**{name: state[name] for name in cls.__dataclass_fields__})
        except (KeyError, TypeError) as error:
            raise CorruptState(f"what is known of the machines is damaged: {error}") from error


def _smoothed(before: float | None, now: float | None) -> float | None:
    if before is None or now is None:
        return before if now is None else now
    return (1 - NEWEST) * before + NEWEST * now


def _overlap(starts: NDArray[np.float64], ends: NDArray[np.float64]) -> int:
    """Return how many intervals there are at once, at most."""
    moments = np.concatenate([starts, ends])
    steps = np.concatenate([np.ones(starts.size, np.int64), -np.ones(ends.size, np.int64)])
    # Of an end and a start at the same moment the end is first.
    order = np.lexsort((steps, moments))
    return max(1, int(np.cumsum(steps[order]).max(initial=0)))


def _weighted_median(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(passed, passed[-1] / 2)])
