"""Run a stream through a partitioner and a model of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import capacities as checked_capacities
from trimtab._checks import key_hashes, whole
from trimtab.control.cost_model import Operator, Placement, makespan
from trimtab.control.repartitioner import Repartitioner
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners import Planner
from trimtab.routers import Router
from trimtab.simulate.queues import Queues
from trimtab.simulate.result import Result, Window

LEVEL_UTILISATION = 0.8
"""Unless a rate is given, tuples arrive so fast that level lanes are this busy (CG, Section 7)."""


def run(
    partitioner: Router | Plan | Planner,
    hashes: ArrayLike,
    *,
    window: int = 100_000,
    operator: Operator | None = None,
    capacities: ArrayLike | None = None,
    rate: float | None = None,
    repartitioner: Repartitioner | None = None,
    after_window: Callable[[Window], object] | None = None,
) -> Result:
    """Route a stream window by window and say what lanes, queues and merges make of it.

    Every window is looked at in two ways: as a batch, whose makespan is that of the cost model,
    and as a stream, whose tuples arrive at a constant rate and wait in the lanes' queues.

    Parameters
    ----------
    partitioner
        A router, told of each window's end by `advance()`; a plan; or a planner, which makes the
        plan for a window from the exact counts of the window before. The first window of a planner
        is hashed.
    hashes
        The stream, in order of arrival.
    window
        Tuples per window, 1 or more.
    operator
        What a row, a key and a merge cost; by default a microsecond per row and per merge.
    capacities
        Relative speed of each lane; or one row of them per window, for lanes whose speed changes,
        the last row being used from then on. The cluster as a whole keeps its speed.
    rate
        Tuples per second; by default so many that level lanes are busy for 80 % of the time.
    repartitioner
        Decides whether a planner's new plan is used; by default it always is.
    after_window
        Called with each window, for control from outside, such as CG's signals.

    Examples
    --------
    >>> from trimtab import hash_keys, router
    >>> from trimtab.workloads import zipf_ids
    >>> stream = hash_keys(zipf_ids(50_000, 1000, 1.2, seed=1))
    >>> hashed = run(router("hash", lanes=8), stream, window=10_000)
    >>> level = run(router("shuffle", lanes=8), stream, window=10_000)
    >>> level.max_over_mean.round(2).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    >>> bool(hashed.makespan > level.makespan), bool(hashed.latencies.max() > 0.01)
    (True, True)

    References
    ----------
    Holistic, Section 2.3 (partial evaluation, then aggregation, per window); Consistent Grouping,
    Sections 3 and 6 (queues, latency, utilisation).
    """
    keys = key_hashes(hashes)
    if not isinstance(partitioner, (Router, Plan, Planner)):
        raise InvalidArgument(
            f"partitioner must be a router, a plan or a planner; got {type(partitioner).__name__}"
        )
    if repartitioner is not None and not isinstance(partitioner, Planner):
        raise InvalidArgument("a repartitioner judges the plans of a planner; give a planner")
    if keys.size == 0:
        raise InvalidArgument("a simulation needs at least one tuple; got an empty stream")
    whole("window", window, 1)
    operator = Operator(split_keys=True) if operator is None else operator
    n = partitioner.lanes
    speeds = _speeds(capacities, n)
    per_row = operator.row_seconds + operator.ship_seconds
    if per_row <= 0:
        raise InvalidArgument("rows must cost time: give row_seconds or ship_seconds above 0")
    queues = Queues(n, LEVEL_UTILISATION * n / per_row if rate is None else rate)
    windows = []
    placed = _placed(partitioner, keys, window, repartitioner)
    for number, (chunk, lanes, moved) in enumerate(placed):
        speed = speeds[min(number, speeds.shape[0] - 1)]
        placement = Placement.measured(chunk, lanes, n)
        latencies = queues.serve(lanes, per_row / speed)
        windows.append(
            Window(
                number=number,
                placement=placement,
                makespan=makespan(placement, operator, capacities=speed),
                capacities=speed,
                utilisation=placement.loads * per_row / speed * (queues.rate / chunk.size),
                queues=queues.lengths(),
                latencies=latencies,
                moved=moved,
            )
        )
        if after_window is not None:
            after_window(windows[-1])
    name = partitioner.maker or "plan" if isinstance(partitioner, Plan) else partitioner.name
    return Result(name, tuple(windows))


def _placed(
    partitioner: Router | Plan | Planner,
    keys: NDArray[np.uint64],
    window: int,
    repartitioner: Repartitioner | None,
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int32], float]]:
    """Return, window by window, the keys, their lanes, and the share that was moved before it."""
    chunks = (keys[start : start + window] for start in range(0, keys.size, window))
    if isinstance(partitioner, Router):
        for chunk in chunks:
            yield chunk, partitioner.route(chunk), 0.0
            partitioner.advance()
        return
    if isinstance(partitioner, Plan):
        for chunk in chunks:
            yield chunk, partitioner.route(chunk), 0.0
        return
    plan, moved = Plan(partitioner.lanes), 0.0
    for chunk in chunks:
        yield chunk, plan.route(chunk), moved
        counted = Histogram.from_hashes(chunk, hosts=partitioner.hosts or None)
        following = partitioner.plan(counted, plan)
        if repartitioner is not None:
            following = repartitioner.decide(plan, following, counted).plan
        moved = plan.moved(following, counted)
        plan = following


def _speeds(capacities: ArrayLike | None, lanes: int) -> NDArray[np.float64]:
    given = np.ones(lanes) if capacities is None else np.asarray(capacities, dtype=np.float64)
    rows = given.reshape(1, -1) if given.ndim == 1 else given
    if rows.ndim != 2 or rows.shape[0] == 0:
        raise InvalidArgument(
            f"capacities must be {lanes} numbers, or one row of them per window; got an array of "
            f"shape {given.shape}"
        )
    return np.array([checked_capacities(row, lanes) for row in rows])
