"""Micro-batch mode: a map stage over blocks, a reduce stage over buckets, batch after batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trimtab import metrics
from trimtab._checks import key_hashes, real, whole
from trimtab._kernel import GOLDEN
from trimtab._pairs import Pairs
from trimtab.control.autoscale import AutoScaler
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners import Planner
from trimtab.planners.reduce_buckets import allocate_block
from trimtab.routers import Router
from trimtab.routers.time import TimeRouter
from trimtab.simulate.stages import StageCosts, stage_seconds

Blocks = Callable[[int], Router | Planner]
"""Makes the partitioner of the map stage for a number of blocks."""


@dataclass(frozen=True)
class Job:
    """A streaming job in micro-batches.

    Parameters
    ----------
    interval
        Seconds in which a batch is gathered, above 0; also the latency that is promised.
    map_tasks, reduce_tasks
        Blocks of the map stage and buckets of the reduce stage, 1 or more.
    cores
        Tasks that run at once, 1 or more.
    costs
        What rows, keys and tasks cost.
    buckets
        Who decides where keys are reduced: "hash"; "prompt" for its Algorithm 3, in which each
        block decides by itself; or a planner of whole keys, which learns from the batch before.
    back_pressure
        Whether a batch that took longer than its interval lowers the rate that is let in.
    state_bytes, bytes_per_second
        Bytes of all state that reducers keep, and how fast one sends and takes it.
    """

    interval: float = 1.0
    map_tasks: int = 8
    reduce_tasks: int = 8
    cores: int = 8
    costs: StageCosts = field(default_factory=StageCosts)
    buckets: str | Planner = "hash"
    back_pressure: bool = False
    state_bytes: float = 0.0
    bytes_per_second: float = 1e8

    def __post_init__(self) -> None:
        real("interval", self.interval, 0, low_open=True)
        for name in ("map_tasks", "reduce_tasks", "cores"):
            whole(name, getattr(self, name), 1)
        real("state_bytes", self.state_bytes, 0)
        real("bytes_per_second", self.bytes_per_second, 0, low_open=True)
        if isinstance(self.buckets, str) and self.buckets not in ("hash", "prompt"):
            raise InvalidArgument(
                f"buckets must be 'hash', 'prompt' or a planner; got {self.buckets!r}"
            )


@dataclass(frozen=True, eq=False)
class Batch:
    """One batch: when it ran, what its stages took, and how level they were.

    Attributes
    ----------
    number, rows, offered, keys
        0, 1, ...; rows that were let in; rows that came; distinct keys.
    map_seconds, reduce_seconds
        What the stages took.
    reduce_times
        Seconds of each reduce task.
    waited
        Seconds between the end of the interval and the start of the first task.
    latency
        Seconds from the start of the interval to the last result: the oldest row's.
    block_sizes, block_keys, bucket_sizes
        Rows and distinct keys of each block, rows of each bucket.
    split_ratio
        Blocks per key.
    moved_bytes
        State that a new plan of the reduce stage moved.
    map_tasks, reduce_tasks
        How many tasks there were.
    """

    number: int
    rows: int
    offered: int
    keys: int
    map_seconds: float
    reduce_seconds: float
    reduce_times: NDArray[np.float64]
    waited: float
    latency: float
    block_sizes: NDArray[np.int64]
    block_keys: NDArray[np.int64]
    bucket_sizes: NDArray[np.float64]
    split_ratio: float
    moved_bytes: float
    map_tasks: int
    reduce_tasks: int

    @property
    def processing(self) -> float:
        """Seconds that the batch was worked on."""
        return self.map_seconds + self.reduce_seconds

    @property
    def block_size_imbalance(self) -> float:
        """Prompt's BSI."""
        return metrics.block_size_imbalance(self.block_sizes)

    @property
    def block_cardinality_imbalance(self) -> float:
        """Prompt's BCI."""
        return metrics.block_cardinality_imbalance(self.block_keys)


@dataclass(frozen=True, eq=False)
class Batches:
    """All batches of a job."""

    interval: float
    batches: tuple[Batch, ...]

    @property
    def keeps_up(self) -> bool:
        """Whether every batch was done within its interval, and nothing was turned away."""
        return all(
            batch.processing <= self.interval and batch.rows == batch.offered
            for batch in self.batches
        )

    @property
    def processing(self) -> NDArray[np.float64]:
        """Seconds of each batch."""
        return np.array([batch.processing for batch in self.batches])

    @property
    def latencies(self) -> NDArray[np.float64]:
        """Latency of each batch's oldest row."""
        return np.array([batch.latency for batch in self.batches])


def micro_batches(
    blocks: Blocks,
    batches: Iterable[tuple[NDArray[np.uint64], NDArray[np.float64] | None]],
    job: Job | None = None,
    scaler: AutoScaler | None = None,
) -> Batches:
    """Run a stream in micro-batches.

    Parameters
    ----------
    blocks
        Makes the partitioner of the map stage for a number of blocks, such as
        `lambda n: planner("prompt", lanes=n)`. A planner sees the batch before it is cut into
        blocks; a router sees it tuple by tuple.
    batches
        For each interval the key hashes in order of arrival, and when each arrived as a part of the
        interval, in [0, 1); None where they come evenly.
    job
        Stages, cores and costs.
    scaler
        Changes the numbers of tasks from batch to batch; cores then follow the tasks.

    Examples
    --------
    >>> from trimtab import hash_keys, planner, router
    >>> from trimtab.workloads import zipf_ids
    >>> keys = hash_keys(zipf_ids(20_000, 1000, 1.5, seed=1))
    >>> hashed = micro_batches(lambda n: router("hash", lanes=n), [(keys, None)])
    >>> prompt = micro_batches(
    ...     lambda n: planner("prompt", lanes=n), [(keys, None)], Job(buckets="prompt")
    ... )
    >>> bool(hashed.processing[0] > 1.5 * prompt.processing[0])
    True

    References
    ----------
    Prompt, Sections 2.1 (the processing model), 3.3 (costs), 5 and 6; Dynamic Repartitioning,
    Section 3 (a plan for the shuffle, between two batches).
    """
    run = _Run(blocks, Job() if job is None else job, scaler)
    made = tuple(run.batch(key_hashes(keys), arrivals) for keys, arrivals in batches)
    if not made:
        raise InvalidArgument("a simulation needs at least one batch; got none")
    return Batches(run.job.interval, made)


class _Run:
    """A job under way."""

    def __init__(self, blocks: Blocks, job: Job, scaler: AutoScaler | None) -> None:
        self.make, self.job, self.scaler = blocks, job, scaler
        self.map_tasks = scaler.map_tasks if scaler else job.map_tasks
        self.reduce_tasks = scaler.reduce_tasks if scaler else job.reduce_tasks
        self.partitioner = blocks(self.map_tasks)
        self.plan = Plan(self.reduce_tasks)
        self.number = 0
        self.free = 0.0  # when the batch before is done
        self.limit = np.inf

    def batch(self, offered: NDArray[np.uint64], arrivals: NDArray[np.float64] | None) -> Batch:
        job = self.job
        rows = int(min(offered.size, self.limit * job.interval))
        keys = offered[:rows]
        lanes = self._blocks(keys, None if arrivals is None else arrivals[:rows])
        pairs = Pairs.of(keys, lanes)
        sizes = np.bincount(pairs.ids, minlength=pairs.replicas).astype(np.float64)
        block_sizes = np.bincount(lanes, minlength=self.map_tasks)
        block_keys = np.bincount(pairs.lane, minlength=self.map_tasks)
        buckets = self._buckets(pairs, sizes)
        maps = job.costs.map_times(block_sizes, block_keys)
        bucket_sizes, reduces = job.costs.reduce_times(pairs, sizes, buckets, self.reduce_tasks)
        moved = self._replan(keys)
        map_cores = self.map_tasks if self.scaler else job.cores
        reduce_cores = self.reduce_tasks if self.scaler else job.cores
        map_seconds = stage_seconds(maps, map_cores)
        reduce_seconds = stage_seconds(reduces, reduce_cores)
        reduce_seconds += moved / self.reduce_tasks / job.bytes_per_second
        ready = (self.number + 1) * job.interval
        waited = max(0.0, self.free - ready)
        self.free = ready + waited + map_seconds + reduce_seconds
        made = Batch(
            number=self.number,
            rows=rows,
            offered=offered.size,
            keys=pairs.keys,
            map_seconds=map_seconds,
            reduce_seconds=reduce_seconds,
            reduce_times=reduces,
            waited=waited,
            latency=self.free - self.number * job.interval,
            block_sizes=block_sizes,
            block_keys=block_keys,
            bucket_sizes=bucket_sizes,
            split_ratio=pairs.replication,
            moved_bytes=moved,
            map_tasks=self.map_tasks,
            reduce_tasks=self.reduce_tasks,
        )
        self._steer(made)
        self.number += 1
        return made

    def _blocks(
        self, keys: NDArray[np.uint64], arrivals: NDArray[np.float64] | None
    ) -> NDArray[np.int32]:
        chooser = self.partitioner
        if isinstance(chooser, Planner):
            plan = chooser.plan(Histogram.from_hashes(keys), exact=True)
            return _route_evenly(plan, keys)
        if isinstance(chooser, TimeRouter):
            if arrivals is None:
                arrivals = np.arange(keys.size) / max(1, keys.size)
            lanes = chooser.route(keys, times=(arrivals * chooser.interval).astype(np.int64))
        else:
            lanes = chooser.route(keys)
        chooser.advance()
        return lanes

    def _buckets(self, pairs: Pairs, sizes: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the reduce bucket of each key-block pair; all pairs of a key have one bucket."""
        n, names = self.reduce_tasks, pairs.names[pairs.key]
        if isinstance(self.job.buckets, Planner):
            return self.plan.route(names)
        if self.job.buckets == "hash":
            return (names % np.uint64(n)).astype(np.int32)
        split = np.bincount(pairs.key, minlength=pairs.keys)[pairs.key] > 1
        made = np.empty(pairs.replicas, dtype=np.int32)
        by_block = np.argsort(pairs.lane, kind="stable")
        ends = np.cumsum(np.bincount(pairs.lane, minlength=self.map_tasks))
        for block, mine in enumerate(np.split(by_block, ends[:-1])):
            first = block * n // self.map_tasks
            made[mine] = allocate_block(names[mine], sizes[mine], split[mine], n, first)
        return made

    def _replan(self, keys: NDArray[np.uint64]) -> float:
        """Make the reduce stage's next plan; return the bytes of state that it moves."""
        maker = self.job.buckets
        if not isinstance(maker, Planner):
            return 0.0
        counted = Histogram.from_hashes(keys, hosts=maker.hosts or None)
        following = maker.plan(counted, self.plan)
        moved = self.plan.moved(following, counted) * self.job.state_bytes
        self.plan = following
        return moved

    def _steer(self, batch: Batch) -> None:
        job = self.job
        if job.back_pressure:
            if batch.processing > job.interval:
                self.limit = batch.rows / batch.processing
            else:
                # Room that is left is given back by and by.
                self.limit = 1.1 * max(self.limit, batch.rows / job.interval)
        if self.scaler is None:
            return
        decision = self.scaler.observe(batch.processing, job.interval, batch.rows, batch.keys)
        if decision.map_tasks != self.map_tasks:
            self.map_tasks = decision.map_tasks
            self.partitioner = self.make(self.map_tasks)
        if decision.reduce_tasks != self.reduce_tasks:
            self.reduce_tasks = decision.reduce_tasks
            self.plan = self.plan.resized(self.reduce_tasks)


def _route_evenly(plan: Plan, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Route by a plan; rows of a split key go to its fragments by the row's place in the batch."""
    places = np.arange(keys.size, dtype=np.uint64) * np.uint64(GOLDEN)
    return plan.route(keys, places)
