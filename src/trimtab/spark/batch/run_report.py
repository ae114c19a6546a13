"""What a run has shown of its lanes and machines: how long, where, and why."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from trimtab.control.machines import LaneTimes, Machines
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.spark.counting.lane_clock import LaneClock
from trimtab.spark.lane_report import lane_report

_ATTRIBUTE = "_trimtab_run"


@dataclass(frozen=True, eq=False)
class _Run:
    """What is kept beside a result until it has run."""

    clock: LaneClock
    lanes: int
    plan: Plan | None
    keys: Histogram | None


@dataclass(frozen=True, eq=False)
class RunReport:
    """What the first action on a function of groups has shown.

    Attributes
    ----------
    times
        Rows, beginning, end and executor of each lane. A lane that gave no row is not among them.
    slowness
        Seconds that a row takes on each executor, over those on the middle one.
    stragglers
        The lanes that others waited for, each with its cause: a hot key, by its name where one is
        known; a slow machine, by its address; or rows that take longer.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
    >>> found = tt.group_by(clicks, "user", lanes=4).applyInPandas(lambda rows: rows, "user string")
    >>> found.count()
    100
    >>> print(str(tt.profile(found)).splitlines()[0])
    4 lanes, executors: 1; ... s on average, ... s the longest
    """

    times: LaneTimes
    slowness: dict[str, float]
    stragglers: list[dict[str, object]]

    def __str__(self) -> str:
        seconds = self.times.seconds[self.times.measured]
        lines = [
            f"{seconds.size} lanes, executors: {len(self.slowness)}; {seconds.mean():.2f} s on "
            f"average, {seconds.max():.2f} s the longest"
        ]
        lines += [
            f"executor {name}: a row takes {slow:.2f} times as long as on the middle one"
            for name, slow in sorted(self.slowness.items(), key=lambda one: -one[1])
        ]
        for one in self.stragglers:
            key = f" ({one['key']})" if one.get("key") else ""
            lines.append(
                f"lane {one['lane']} took {one['seconds']} s, {one['over']} times the mean: "
                f"{one['cause']}{key}, on {one['executor']}"
            )
        return "\n".join(lines)


def note_run(
    result: DataFrame, clock: LaneClock, lanes: int, plan: Plan | None, keys: Histogram | None
) -> None:
    """Keep beside a result what its report will be made from."""
    setattr(result, _ATTRIBUTE, _Run(clock, lanes, plan, keys))


def report_run(result: DataFrame, names: str) -> RunReport:
    """Return what the first action on a result has shown."""
    run = getattr(result, _ATTRIBUTE, None) if _ATTRIBUTE in vars(result) else None
    if not isinstance(run, _Run):
        raise InvalidArgument(
            "give a key to profile a frame; without one, profile tells of a run, and takes the "
            "frame that group_by(...).applyInPandas gave, once an action has used it"
        )
    times = run.clock.read(run.lanes)
    if times is None:
        raise InvalidArgument(
            "nothing was measured yet: run an action on the frame first, one that gives rows"
        )
    keys = None if run.keys is None else run.keys.named(names)
    found = lane_report(times, Machines().after(times), run.plan, keys)
    return RunReport(times, times.slowness(), found["stragglers"])
