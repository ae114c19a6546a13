"""The ring as hosts: even enough, the same for old lanes, and left alone once in force."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.hashing import GOLDEN, MASK, mix64
from trimtab import Plan
from trimtab.planners._ring import ring_hosts, tail_hosts


@pytest.mark.parametrize(("lanes", "replicas"), [(1, 1), (3, 5), (7, 100)])
def test_hosts_equal_a_walk_round_the_ring(lanes: int, replicas: int) -> None:
    hosts = ring_hosts(lanes, replicas)
    bits = hosts.size.bit_length() - 1
    assert hosts.size == 1 << bits >= 128 * lanes
    points = sorted(
        (mix64((lane * replicas + r + 1) * GOLDEN & MASK), lane)
        for lane in range(lanes)
        for r in range(replicas)
    )
    for host in range(hosts.size):
        reversed_bits = int(f"{host:0{bits}b}"[::-1], 2) if bits else 0
        middle = (2 * reversed_bits + 1) << (63 - bits)
        after = [lane for point, lane in points if point >= middle]
        assert hosts[host] == (after[0] if after else points[0][1])


def test_arcs_differ_by_about_a_tenth_with_a_hundred_replicas() -> None:
    shares = np.bincount(ring_hosts(32, 100), minlength=32) * 32 / ring_hosts(32, 100).size
    assert 0.05 < shares.std() < 0.17


def test_a_new_lane_takes_arcs_and_moves_nothing_else() -> None:
    keys = np.random.default_rng(1).integers(0, 2**64, 50_000, dtype=np.uint64)
    # 15 and 16 lanes have the same number of hosts.
    before = Plan(16, hosts=ring_hosts(15, 100)).route(keys)
    after = Plan(16, hosts=ring_hosts(16, 100)).route(keys)
    moved = before != after
    assert (after[moved] == 15).all()
    assert moved.mean() == pytest.approx(1 / 16, rel=0.3)


def test_twice_the_hosts_move_only_the_seams_besides() -> None:
    keys = np.random.default_rng(2).integers(0, 2**64, 50_000, dtype=np.uint64)
    before = Plan(17, hosts=ring_hosts(16, 100)).route(keys)
    after = Plan(17, hosts=ring_hosts(17, 100)).route(keys)
    assert (before != after).mean() < 1 / 17 + 0.2


def test_hosts_in_force_stay() -> None:
    previous = Plan(4, {9: 0}, hosts=[3, 1, 2, 0, 1])
    assert tail_hosts(previous, 4, 100).tolist() == [3, 1, 2, 0, 1]
    isolated = Plan(4, {9: 3}, hosts=[0, 1, 2])
    assert tail_hosts(isolated, 4, 100).tolist() == [0, 1, 2], "a lane without hosts is in use"


def test_a_new_ring_is_laid_after_lanes_were_added() -> None:
    grown = Plan(4).resized(8)
    assert tail_hosts(grown, 8, 100).tolist() == ring_hosts(8, 100).tolist()
    assert tail_hosts(None, 8, 100).tolist() == ring_hosts(8, 100).tolist()
