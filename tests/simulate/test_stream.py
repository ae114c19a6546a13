from __future__ import annotations

import numpy as np
import pytest

from trimtab import hash_keys, metrics, planner, router
from trimtab.control import Delegation
from trimtab.errors import InvalidArgument
from trimtab.routers import Router
from trimtab.simulate import (
    Cluster,
    Reducers,
    Service,
    Signals,
    Sources,
    Timeline,
    highest_rate,
    stream,
)
from trimtab.workloads import zipf_ids

LANES = 8
KEYS = hash_keys(zipf_ids(160_000, 5_000, 1.0, seed=2)).reshape(16, 10_000)
LEVEL = Service(0.8 * LANES / 10_000)
"""So long that level lanes are busy for 80 % of a slot of one second."""


def test_mean_latency_of_m_d_1() -> None:
    # One lane, Poisson arrivals, constant service s: s (1 + rho / (2 (1 - rho))).
    keys = np.zeros((40, 20_000), dtype=np.uint64)
    for rho in (0.5, 0.8):
        service = Service(rho / 20_000)
        found = stream(router("hash", lanes=1), keys, Cluster(service, poisson=True, seed=1))
        expected = service.seconds * (1 + rho / (2 * (1 - rho)))
        assert found.latencies.mean == pytest.approx(expected, rel=0.02)


def test_d_d_1_waits_only_when_overloaded() -> None:
    keys = np.zeros((5, 1000), dtype=np.uint64)
    calm = stream(router("hash", lanes=1), keys, Cluster(Service(0.9e-3)))
    assert calm.latencies.percentile(100) == pytest.approx(0.9e-3, rel=0.01)
    assert calm.keeps_up
    flooded = stream(router("hash", lanes=1), keys, Cluster(Service(1.25e-3)))
    # Of 1,000 that arrive in a second, 800 are served.
    assert flooded.of(lambda s: s.queues[0]).tolist() == pytest.approx([200, 400, 600, 800, 1000])
    assert [row["throughput"] for row in flooded.table()] == pytest.approx([800.0] * 5)
    assert not flooded.keeps_up


def test_hashing_uniform_keys_is_balls_into_bins() -> None:
    keys = hash_keys(np.arange(200_000)).reshape(2, -1)
    loads = stream(router("hash", lanes=100), keys).loads
    # max - mean of m balls in n bins is about sqrt(2 m ln(n) / n).
    assert loads.max() - loads.mean() == pytest.approx(np.sqrt(2 * 2000 * np.log(100)), rel=0.35)
    two = stream(router("potc", lanes=100, endless=True), keys).loads
    assert two.max() - two.mean() < 5


def test_slots_say_what_the_partitioner_did() -> None:
    found = stream(router("pkg", lanes=LANES, seed=1), KEYS, Cluster(LEVEL, poisson=True, seed=7))
    again = router("pkg", lanes=LANES, seed=1)
    for slot, keys in zip(found.slots, KEYS, strict=True):
        lanes = again.route(keys)
        again.advance()
        assert slot.loads.tolist() == np.bincount(lanes, minlength=LANES).tolist()
        assert slot.replicas == metrics.replicas(keys, lanes)
    repeated = stream(
        router("pkg", lanes=LANES, seed=1), KEYS, Cluster(LEVEL, poisson=True, seed=7)
    )
    assert repeated.table() == found.table()


def test_a_window_is_merged_as_a_whole() -> None:
    reducers = Reducers(2, fragment_seconds=1e-4, only_split=False)
    cluster = Cluster(LEVEL, reducers=reducers, window=3)
    found = stream(router("shuffle", lanes=LANES), KEYS[:5], cluster)
    again = router("shuffle", lanes=LANES)
    lanes = [again.route(keys) for keys in KEYS[:5]]
    expected = metrics.replicas(np.concatenate(KEYS[2:5]), np.concatenate(lanes[2:5]))
    assert found.slots[4].replicas == expected
    assert found.slots[4].aggregation_seconds == pytest.approx(expected * 1e-4 / 2, rel=0.05)


def test_consistent_grouping_follows_speeds_that_change() -> None:
    def speeds(slot: int) -> list[float]:
        fast = [5.0] * 3 + [1.0] * 5
        return fast if slot < 240 else fast[::-1]

    keys = np.tile(KEYS.reshape(160, 1000), (3, 1))

    def queues(router_: Router, signals: Signals | None) -> list[float]:
        found = stream(router_, keys, Cluster(LEVEL, speeds, signals=signals), seconds=0.1)
        return [float(queue) for queue in found.of(lambda s: s.queues.max())[[239, 479]]]

    assert min(queues(router("shuffle", lanes=LANES), None)) > 10_000
    grouping = router("cg", lanes=LANES, virtual=20, seed=1)
    assert max(queues(grouping, Signals(Delegation(), lag=1))) < 3_000


@pytest.mark.parametrize("lag", [0, 3])
def test_several_sources_follow_late_signals_and_what_they_split_is_merged(lag: int) -> None:
    speeds = [5.0] * 3 + [1.0] * 5
    keys = np.tile(KEYS.reshape(160, 1000), (2, 1))
    reducers = Reducers(2, fragment_seconds=1e-5, only_split=False)

    def found(signals: Signals | None) -> Timeline:
        makers = [router("cg", lanes=LANES, virtual=20, seed=1) for _ in range(4)]
        cluster = Cluster(LEVEL, speeds, reducers=reducers, window=4, signals=signals)
        return stream(Sources(makers), keys, cluster, seconds=0.1)

    deaf, hears = found(None), found(Signals(Delegation(), lag=lag))
    queues = [float(run.of(lambda s: s.queues.max())[-1]) for run in (deaf, hears)]
    assert queues[0] > 10_000
    assert queues[1] < 3_000
    # Partial results of four slots meet: a key is merged once, from as many lanes as had it.
    last = hears.slots[-1]
    assert last.replicas > np.unique(keys[-4:]).size
    assert 0.5 <= last.aggregation_seconds / (last.replicas * 1e-5) < 0.65


def test_moving_state_takes_time() -> None:
    def latency(state_bytes: float) -> Timeline:
        sources = Sources(planner("kip", lanes=LANES))
        return stream(sources, KEYS[:4], Cluster(LEVEL, state_bytes=state_bytes))

    free, dear = latency(0.0), latency(1e9)
    assert dear.slots[1].moved_bytes > 1e7
    assert dear.slots[1].latencies.mean > free.slots[1].latencies.mean + 0.01


def test_the_highest_rate_is_that_of_the_heaviest_lane() -> None:
    one = KEYS[:2]

    def keeps_up(rate: float) -> bool:
        # The same tuples in less time.
        found = stream(
            router("hash", lanes=LANES), one, Cluster(Service(1e-3)), seconds=one.shape[1] / rate
        )
        return found.keeps_up

    found = stream(router("hash", lanes=LANES), one, Cluster(Service(1e-3)))
    expected = one.size / (found.loads.max() * 1e-3)
    assert found.sustainable_rate == pytest.approx(expected)
    assert highest_rate(keeps_up, 1000.0, within=1e-3) == pytest.approx(expected, rel=2e-3)


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidArgument, match="at least one tuple"):
        stream(router("hash", lanes=2), [np.empty(0, dtype=np.uint64)])
    with pytest.raises(InvalidArgument, match="speeds must be 2 positive"):
        stream(router("hash", lanes=2), KEYS[:1], Cluster(speeds=[1.0]))
    with pytest.raises(InvalidArgument, match="window"):
        Cluster(window=0)
