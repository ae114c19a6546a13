"""How many map and reduce tasks the next batch needs."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any, Self

from trimtab._checks import real, whole
from trimtab._format import Format
from trimtab.errors import CorruptState, InvalidArgument

_FORMAT = Format("trimtab.autoscaler", 1, "the state of an autoscaler")

UNDER_USED, STABLE, OVERLOADED = 1, 2, 3
"""The three zones: remove tasks, leave all as it is, add tasks."""


@dataclass(frozen=True)
class ScaleDecision:
    """Numbers of tasks for the next batch, whether they changed, and why."""

    map_tasks: int
    reduce_tasks: int
    change: bool
    zone: int
    reason: str


class AutoScaler:
    """Add and remove tasks so that the processing time stays just below the batch interval.

    With `W = processing time / batch interval`, a batch is in zone 3 (overloaded) if
    `W > threshold`, in zone 1 (under-used) if `W <= threshold - step`, else in zone 2. After
    `batches` batches in a row in zone 3, one map task is added if the data rate rose and one reduce
    task if the number of keys rose; in zone 1 tasks are removed in the same way. Zone 2 changes
    nothing. After a change, nothing is done in the other direction for `batches` batches.

    Parameters
    ----------
    map_tasks, reduce_tasks
        Tasks to start with, within their bounds.
    most_map_tasks, most_reduce_tasks, least_map_tasks, least_reduce_tasks
        Bounds, 1 or more.
    threshold
        Load above which a batch is overloaded, in (0, 1). Raising it uses fewer tasks and leaves
        less room for bursts.
    step
        Width of zone 2, in (0, threshold). Raising it makes scaling in rarer.
    batches
        Batches in a row that it takes to act, and length of the grace period, 1 or more. Raising
        it reacts later and to less noise.
    tolerance
        Relative change of rate or keys that still counts as no change, 0 or more.

    Examples
    --------
    >>> scaler = AutoScaler(map_tasks=4, reduce_tasks=4, batches=2)
    >>> scaler.observe(0.85, 1.0, rows=1000, keys=10).reason
    'stable: the last batch took 85% of its interval'
    >>> scaler.observe(0.95, 1.0, rows=1200, keys=10).change
    False
    >>> decision = scaler.observe(0.97, 1.0, rows=1210, keys=10)
    >>> decision.map_tasks, decision.reduce_tasks
    (5, 4)
    >>> decision.reason
    'overloaded for 2 batches and the data rate rose: one more map task'

    References
    ----------
    Prompt, Section 6 and Algorithm 4.

    Notes
    -----
    The paper leaves open against what rate and keys have risen. Here it is the last batch that the
    tasks coped with: the newest batch outside the zone in question. So a load that jumped and
    stays high goes on counting as risen, and scaling repeats until the zone is left. If neither
    rate nor keys rose (slower machines, say), or no batch outside the zone was ever seen, nothing
    says which kind is short, and both get one more, or one less. Tasks are removed only if `W`,
    growing in proportion, would stay within the threshold: else two tasks would take turns with
    one for ever. The listing's counter is raised in the branch of `W <= threshold`; the text
    around it says that overloaded batches are counted, and so they are here.
    """

    def __init__(
        self,
        map_tasks: int,
        reduce_tasks: int,
        *,
        most_map_tasks: int = 1024,
        most_reduce_tasks: int = 1024,
        least_map_tasks: int = 1,
        least_reduce_tasks: int = 1,
        threshold: float = 0.9,
        step: float = 0.1,
        batches: int = 3,
        tolerance: float = 0.02,
    ) -> None:
        self.least_map_tasks = whole("least_map_tasks", least_map_tasks, 1)
        self.least_reduce_tasks = whole("least_reduce_tasks", least_reduce_tasks, 1)
        self.most_map_tasks = whole("most_map_tasks", most_map_tasks, self.least_map_tasks)
        self.most_reduce_tasks = whole(
            "most_reduce_tasks", most_reduce_tasks, self.least_reduce_tasks
        )
        self.map_tasks = whole("map_tasks", map_tasks, self.least_map_tasks, self.most_map_tasks)
        self.reduce_tasks = whole(
            "reduce_tasks", reduce_tasks, self.least_reduce_tasks, self.most_reduce_tasks
        )
        self.threshold = real("threshold", threshold, 0, 1, low_open=True, high_open=True)
        self.step = real("step", step, 0, self.threshold, low_open=True, high_open=True)
        self.batches = whole("batches", batches, 1)
        self.tolerance = real("tolerance", tolerance, 0)
        self._zone = STABLE
        self._count = 0
        # W, rows and keys of the newest batches in the zone, since the last change.
        self._stats: deque[tuple[float, float, float]] = deque(maxlen=self.batches)
        self._coped: dict[int, tuple[float, float]] = {}
        self._grace = 0
        self._last = 0

    def observe(
        self,
        processing_time: float,
        batch_interval: float,
        rows: float,
        keys: float,
        *,
        needed: float | None = None,
    ) -> ScaleDecision:
        """Take note of a batch and say how many tasks the next one gets.

        `rows` is the data rate (tuples of the batch, or tuples per second: always the same),
        `keys` the number of distinct keys. `needed` is how many map tasks the measured work asks
        for, if that is known: where map tasks change at all, they then change to it at once.
        """
        busy = real("processing_time", processing_time, 0)
        load = busy / real("batch_interval", batch_interval, 0, low_open=True)
        seen = real("rows", rows, 0), real("keys", keys, 0)
        zone = self._zone_of(load)
        for other in (UNDER_USED, OVERLOADED):
            if other != zone:
                self._coped[other] = seen
        if zone != self._zone:
            self._zone, self._count = zone, 0
            self._stats.clear()
        self._count += 1
        self._stats.append((load, *seen))
        self._grace = max(0, self._grace - 1)
        return self._decide(load, needed)

    def _zone_of(self, load: float) -> int:
        if load > self.threshold:
            return OVERLOADED
        return UNDER_USED if load <= self.threshold - self.step else STABLE

    def _decide(self, load: float, needed: float | None) -> ScaleDecision:
        if self._zone == STABLE:
            return self._same(f"stable: the last batch took {load:.0%} of its interval")
        word = "overloaded" if self._zone == OVERLOADED else "under-used"
        direction = 1 if self._zone == OVERLOADED else -1
        if self._count < self.batches:
            return self._same(f"{word} for {self._count} of {self.batches} batches")
        if self._grace and direction != self._last:
            return self._same(
                f"{word}, but the last change was less than {self.batches} batches ago"
            )
        with_rate, with_keys = self._changed(direction)
        verb = "rose" if direction > 0 else "fell"
        causes = [
            cause
            for cause, here in (("the data rate", with_rate), ("the number of keys", with_keys))
            if here
        ]
        why = f"{' and '.join(causes)} {verb}"
        if not causes:
            with_rate = with_keys = True
            why = f"neither the data rate nor the number of keys {verb}"
        maps = self.map_tasks + direction * with_rate
        if with_rate and needed is not None:
            jump = math.ceil(needed)
            if direction < 0:
                peak = max(w for w, _, _ in self._stats)
                jump = max(jump, math.ceil(peak * self.map_tasks / self.threshold))
            maps = max(maps, jump) if direction > 0 else min(maps, jump)
        maps = self._bounded_maps(maps)
        reduces = self._bounded_reduces(self.reduce_tasks + direction * with_keys)
        if (maps, reduces) == (self.map_tasks, self.reduce_tasks):
            return self._same(f"{word} and {why}, but the tasks are at their bounds")
        if direction < 0:
            peak = max(w for w, _, _ in self._stats)
            grown = peak * max(self.map_tasks / maps, self.reduce_tasks / reduces)
            if grown > self.threshold:
                return self._same(f"{word}, but with fewer tasks W would grow to {grown:.2f}")
        reason = f"{word} for {self._count} batches and {why}: {self._difference(maps, reduces)}"
        self.map_tasks, self.reduce_tasks = maps, reduces
        self._count = 0
        self._stats.clear()
        self._grace, self._last = self.batches + 1, direction
        return ScaleDecision(maps, reduces, True, self._zone, reason)

    def _same(self, reason: str) -> ScaleDecision:
        return ScaleDecision(self.map_tasks, self.reduce_tasks, False, self._zone, reason)

    def _changed(self, direction: int) -> tuple[bool, bool]:
        """Say whether rate and keys went in `direction` since the tasks last coped."""
        if self._zone not in self._coped:
            return False, False
        before = self._coped[self._zone]
        count = len(self._stats)
        now = sum(r for _, r, _ in self._stats) / count, sum(k for _, _, k in self._stats) / count
        if direction > 0:
            by = 1 + self.tolerance
            return now[0] > before[0] * by, now[1] > before[1] * by
        by = 1 - self.tolerance
        return now[0] < before[0] * by, now[1] < before[1] * by

    def _bounded_maps(self, wanted: int) -> int:
        return min(max(wanted, self.least_map_tasks), self.most_map_tasks)

    def _bounded_reduces(self, wanted: int) -> int:
        return min(max(wanted, self.least_reduce_tasks), self.most_reduce_tasks)

    def _difference(self, maps: int, reduces: int) -> str:
        """Say what changes: by one task of each kind, or by as many as the work asks for."""
        by = abs(maps - self.map_tasks)
        more = "more" if maps > self.map_tasks or reduces > self.reduce_tasks else "less"
        if by <= 1:
            changed = (("map", maps - self.map_tasks), ("reduce", reduces - self.reduce_tasks))
            kinds = [kind for kind, change in changed if change]
            return f"one {more} {' and '.join(kinds)} task"
        also = f", one {more} reduce task" if reduces != self.reduce_tasks else ""
        return f"{by} {more} map tasks, as the measured work asks for{also}"

    _FIXED = (
        "most_map_tasks",
        "most_reduce_tasks",
        "least_map_tasks",
        "least_reduce_tasks",
        "threshold",
        "step",
        "batches",
        "tolerance",
    )

    def state(self) -> dict[str, Any]:
        """Return parameters and what was learned, as JSON can hold them."""
        fixed = {name: getattr(self, name) for name in self._FIXED}
        return {
            **_FORMAT.head(),
            "parameters": {
                "map_tasks": self.map_tasks,
                "reduce_tasks": self.reduce_tasks,
                **fixed,
            },
            "values": {
                "zone": self._zone,
                "count": self._count,
                "stats": [list(batch) for batch in self._stats],
                "coped": {str(zone): list(seen) for zone, seen in self._coped.items()},
                "grace": self._grace,
                "last": self._last,
            },
            "arrays": {},
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Make a scaler that goes on exactly where the one that gave `state` stood."""
        _FORMAT.check(state, "the given state")
        try:
            made = cls(**state["parameters"])
            values = state["values"]
            made._zone = whole("zone", values["zone"], UNDER_USED, OVERLOADED)
            made._count = whole("count", values["count"], 0)
            for load, rows, keys in values["stats"]:
                made._stats.append((float(load), float(rows), float(keys)))
            for zone, (rows, keys) in values["coped"].items():
                made._coped[int(zone)] = (float(rows), float(keys))
            made._grace = whole("grace", values["grace"], 0)
            made._last = whole("last", values["last"], -1, 1)
        except (InvalidArgument, KeyError, TypeError, ValueError) as error:
            raise CorruptState(f"state of an autoscaler is damaged: {error}") from error
        return made
