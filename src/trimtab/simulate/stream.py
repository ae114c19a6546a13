"""Tuple mode: a stream through sources, lanes with queues, and reducers, slot by slot."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import capacities as checked_capacities
from trimtab._checks import key_hashes, real, seed_number, whole
from trimtab._pairs import Pairs
from trimtab.errors import InvalidArgument
from trimtab.simulate.lanes import Lanes, Served
from trimtab.simulate.latency import Latencies
from trimtab.simulate.reducers import Merged, Reducers
from trimtab.simulate.service import Service
from trimtab.simulate.signals import Signals
from trimtab.simulate.slots import Slot, Timeline
from trimtab.simulate.sources import Partitioner, Sources

Speeds = Callable[[int], ArrayLike]


@dataclass(frozen=True)
class Cluster:
    """What the stream runs on.

    Parameters
    ----------
    service
        How long tuples take on a lane of speed one.
    speeds
        Relative speed of each lane: one number per lane, or a function from a slot's number to
        them. The cluster as a whole keeps its speed.
    reducers
        The second stage; None where nothing is merged.
    window
        Slots per window: what reducers merge at the end of a slot is the window that ends there.
    poisson
        Whether tuples arrive at random instants of their slot; otherwise they come evenly.
    signals
        What the lanes tell the sources, for `cg`.
    state_bytes
        Bytes of all state, for planners: a change of plan moves its share of them.
    bytes_per_second
        How fast a lane sends and takes state.
    seed
        Seed of the arrivals.
    """

    service: Service = field(default_factory=Service)
    speeds: ArrayLike | Speeds | None = None
    reducers: Reducers | None = None
    window: int = 1
    poisson: bool = False
    signals: Signals | None = None
    state_bytes: float = 0.0
    bytes_per_second: float = 1e8
    seed: int = 0

    def __post_init__(self) -> None:
        whole("window", self.window, 1)
        real("state_bytes", self.state_bytes, 0)
        real("bytes_per_second", self.bytes_per_second, 0, low_open=True)
        seed_number(self.seed)

    def speeds_in(self, slot: int, lanes: int) -> NDArray[np.float64]:
        """Return the speed of each lane in a slot, mean one."""
        given = self.speeds(slot) if callable(self.speeds) else self.speeds
        return checked_capacities(given, lanes, "speeds")


def stream(
    partitioner: Partitioner | Sources,
    slots: Iterable[ArrayLike],
    cluster: Cluster | None = None,
    *,
    seconds: float = 1.0,
) -> Timeline:
    """Run a stream through a partitioner and a cluster, and say what every time slot was like.

    Nothing is kept per tuple beyond the slot it arrived in, so that memory goes by keys and lanes.

    Parameters
    ----------
    partitioner
        A router, a plan, a planner, or `Sources`, where there are several or where they cooperate.
    slots
        The key hashes of each slot, in order of arrival. The end of a slot is the end of a slide
        for routers, and the moment at which planners plan and signals are sent.
    cluster
        Lanes, reducers and their costs; by default lanes of equal speed, a microsecond per tuple.
    seconds
        Length of a slot, above 0: with the number of tuples in it, the rate.

    Examples
    --------
    >>> from trimtab import hash_keys, router
    >>> from trimtab.workloads import zipf_ids
    >>> keys = hash_keys(zipf_ids(40_000, 1000, 1.2, seed=1)).reshape(4, 10_000)
    >>> cluster = Cluster(Service(6.4e-4))  # 8 lanes are 80 % busy with 10,000 tuples per second
    >>> hashed = stream(router("hash", lanes=8), keys, cluster)
    >>> level = stream(router("shuffle", lanes=8), keys, cluster)
    >>> hashed.keeps_up, level.keeps_up
    (False, True)
    >>> bool(hashed.latencies.percentile(99) > 100 * level.latencies.percentile(99))
    True

    References
    ----------
    Holistic, Section 2.3 (partial evaluation, then aggregation, per window); Consistent Grouping,
    Sections 3 and 6; Dalton, Section 2.

    Notes
    -----
    The latency of a tuple is told when it arrives, from the work before it and the lane's speed at
    that time; a later change of speed does not change it.
    """
    cluster = Cluster() if cluster is None else cluster
    sources = partitioner if isinstance(partitioner, Sources) else Sources(partitioner)
    real("seconds", seconds, 0, low_open=True)
    run = _Run(sources, cluster, seconds)
    found = tuple(run.slot(key_hashes(keys)) for keys in slots)
    if not found or not any(slot.tuples for slot in found):
        raise InvalidArgument("a simulation needs at least one tuple; got an empty stream")
    return Timeline(sources.name, found)


class _Run:
    """A stream under way."""

    def __init__(self, sources: Sources, cluster: Cluster, seconds: float) -> None:
        self.sources, self.cluster, self.seconds = sources, cluster, seconds
        self.lanes = Lanes(sources.lanes)
        self.number, self.tuples = 0, 0
        self.random = np.random.default_rng(cluster.seed)
        self.recent: deque[tuple[NDArray[np.uint64], NDArray[np.int32]]] = deque(
            maxlen=cluster.window
        )

    def slot(self, keys: NDArray[np.uint64]) -> Slot:
        n, cluster = self.sources.lanes, self.cluster
        speeds = cluster.speeds_in(self.number, n)
        lanes = self.sources.route(keys)
        # A plan may have changed for this slot's own keys, or after the slot before.
        moved = self.sources.moved() * cluster.state_bytes
        if moved:
            self.lanes.pause(np.full(n, moved / n / cluster.bytes_per_second) * speeds)
        work = cluster.service.times(keys, self.tuples)
        start, end = self.number * self.seconds, (self.number + 1) * self.seconds
        served = self.lanes.serve(lanes, self._arrivals(keys.size, start), work, speeds, end)
        merged, merging = self._merge(keys, lanes)
        loads = np.bincount(lanes, minlength=n)
        arrived = np.bincount(lanes, weights=work, minlength=n)
        pressure = arrived / speeds / self.seconds
        delegated = self._signal(pressure, served, speeds, loads)
        self.sources.end_slot(keys)
        latencies = Latencies()
        latencies.add(served.latencies)
        made = Slot(
            number=self.number,
            seconds=self.seconds,
            tuples=keys.size,
            loads=loads,
            capacities=speeds,
            utilisation=np.minimum(served.busy / self.seconds, 1.0),
            pressure=pressure,
            queues=served.backlog / (work.mean() if keys.size else cluster.service.seconds),
            latencies=latencies,
            replicas=merged.replicas,
            keys=merged.keys,
            aggregation_seconds=merging,
            reducer_pressure=merging / self.seconds,
            moved_bytes=moved,
            delegated=delegated,
        )
        self.number += 1
        self.tuples += keys.size
        return made

    def _arrivals(self, count: int, start: float) -> NDArray[np.float64]:
        if self.cluster.poisson:
            # A Poisson process, given how many arrive, is that many sorted instants.
            return start + np.sort(self.random.random(count)) * self.seconds
        return np.linspace(start, start + self.seconds, count, endpoint=False)

    def _merge(self, keys: NDArray[np.uint64], lanes: NDArray[np.int32]) -> tuple[Merged, float]:
        reducers = self.cluster.reducers or Reducers(1, 0.0)
        if self.cluster.window == 1:
            merged = reducers.merge(keys, lanes)
        else:
            self.recent.append(_distinct(keys, lanes))
            merged = reducers.merge(
                np.concatenate([part for part, _ in self.recent]),
                np.concatenate([part for _, part in self.recent]),
            )
        return merged, float(merged.seconds.max())

    def _signal(
        self,
        pressure: NDArray[np.float64],
        served: Served,
        speeds: NDArray[np.float64],
        loads: NDArray[np.int64],
    ) -> int:
        """Send each lane's signal: what it was sent and what waits, over what it can do."""
        if self.cluster.signals is None:
            return 0
        waiting = served.backlog / speeds / self.seconds
        signals = self.cluster.signals.after(pressure + waiting, loads)
        return self.sources.delegate(signals)


def _distinct(
    keys: NDArray[np.uint64], lanes: NDArray[np.int32]
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return each key-lane pair of a slot once."""
    pairs = Pairs.of(keys, lanes)
    return pairs.names[pairs.key], pairs.lane.astype(np.int32)
