"""What a change of plan moves, and how to do only the part of it that a budget allows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab._key_arrays import find_keys, host_of
from trimtab.histogram import Histogram
from trimtab.plan import Plan, tail_by_host

_MOST_HOSTS = 1 << 20
"""Two host tables are compared on their least common multiple, up to this many hosts."""

_ROUNDS = 16
"""The budget is spent in this many parts, the lanes being looked at anew before each."""

_SHARPNESS = 8
"""Lanes count by this power of their load: high enough that the heaviest lane decides."""


def trimmed(running: Plan, candidate: Plan, histogram: Histogram, budget: float) -> Plan:
    """Return a plan between two plans that moves at most `budget` of the weight.

    Of all keys and hosts that the candidate moves, those go first that relieve the heaviest lanes
    most for the weight they carry along. What does not fit the budget stays where it runs. If the
    candidate splits any key, keys may be split, and then a key may also go in part. Plans whose
    host tables have no small common multiple cannot be mixed: the running plan is given back.

    >>> histogram = Histogram.from_counts({8: 40.0, 16: 30.0, 2: 20.0, 3: 10.0})
    >>> wanted = Plan(2, {8: 0, 16: 1, 2: 1, 3: 1})
    >>> Plan(2).moved(wanted, histogram)
    0.5
    >>> made = trimmed(Plan(2), wanted, histogram, budget=0.3)
    >>> made.fragments(16), made.fragments(2), Plan(2).moved(made, histogram)
    ([(1, 1.0)], [(0, 1.0)], 0.3)
    """
    hosts = math.lcm(running.hosts.size, candidate.hosts.size)
    if hosts > _MOST_HOSTS or histogram.total <= 0:
        return running
    keys = np.union1d(running.keys, candidate.keys)
    items = _Items.of(running, candidate, histogram, keys, hosts)
    portions = _portions(items, running.loads(histogram), budget * histogram.total)
    return _mixed(candidate, keys, hosts, portions, items)


@dataclass(frozen=True, eq=False)
class _Items:
    """All that may move: first the hosts, then the keys, with what each does to each lane."""

    weight: NDArray[np.float64]
    """Weight of each item."""
    before: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
    after: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
    """Item, lane and share of every fragment under the running plan and under the candidate."""
    item: NDArray[np.int64]
    lane: NDArray[np.int64]
    net: NDArray[np.float64]
    """Weight that leaves (+) or reaches (-) a lane with an item."""
    moved: NDArray[np.float64]
    """Weight that travels with each item."""
    divisible: NDArray[np.bool_]
    """Whether the item may go in part: a key may, where the candidate splits any."""

    @classmethod
    def of(
        cls,
        running: Plan,
        candidate: Plan,
        histogram: Histogram,
        keys: NDArray[np.uint64],
        hosts: int,
    ) -> _Items:
        at, known = find_keys(keys, histogram.hashes)
        light_hosts = host_of(histogram.hashes[~known], hosts)
        by_host = tail_by_host(histogram, hosts) + np.bincount(
            light_hosts, weights=histogram.weights[~known], minlength=hosts
        )
        by_key = np.zeros(keys.size)
        by_key[at[known]] = histogram.weights[known]
        weight = np.concatenate((by_host, by_key))
        before, after = _fragments(running, keys, hosts), _fragments(candidate, keys, hosts)
        lanes = max(running.lanes, candidate.lanes)
        item = np.concatenate((before[0], after[0]))
        share = np.concatenate((before[2], -after[2]))
        places, inverse = np.unique(
            item * lanes + np.concatenate((before[1], after[1])), return_inverse=True
        )
        item, lane = places // lanes, places % lanes
        net = np.asarray(np.bincount(inverse, share, places.size) * weight[item], dtype=np.float64)
        leaving = np.maximum(net, 0.0)
        moved = np.asarray(np.bincount(item, leaving, weight.size), dtype=np.float64)
        divisible = np.full(weight.size, candidate.splits_keys)
        divisible[:hosts] = False
        return cls(weight, before, after, item, lane, net, moved, divisible)


def _fragments(
    plan: Plan, keys: NDArray[np.uint64], hosts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return item, lane and share of every fragment: hosts are items 0.., keys follow."""
    index = np.arange(hosts)
    pieces = plan.pieces(keys)
    item = np.concatenate((index, hosts + pieces.key))
    lane = np.concatenate((plan.hosts[index % plan.hosts.size], pieces.lane)).astype(np.int64)
    share = np.concatenate((np.ones(hosts), pieces.share))
    return item, lane, share


def _portions(items: _Items, loads: NDArray[np.float64], budget: float) -> NDArray[np.float64]:
    """Say which part of each item goes where the candidate wants it: 0, 1, or between if split."""
    noise = 1e-12 * float(loads.sum())
    left = items.moved.copy()
    left[left <= noise] = 0.0
    loads, budget = loads.copy(), budget + noise
    for round_number in range(_ROUNDS):
        part = budget / (_ROUNDS - round_number)
        step = np.where(items.divisible, np.minimum(left, part), left)
        pull = (loads / loads.mean()) ** _SHARPNESS
        relief = np.bincount(items.item, items.net * pull[items.lane], items.weight.size)
        fits = (step > 0) & (step <= budget)
        worth = np.where(fits, relief / np.maximum(items.moved, noise), 0.0)
        if worth.max() <= 0:
            break
        # Of equally worthy items the heaviest first, so that few keys and hosts move.
        order = np.lexsort((-step, -np.round(worth / worth.max(), 9)))
        order = order[: int((worth > 0).sum())]
        spent = np.cumsum(step[order])
        # At least one item a round, however small the round's part of the budget.
        now = order[spent <= min(max(part, float(spent[0])), budget)]
        gone = np.zeros(left.size)
        gone[now] = step[now] / items.moved[now]
        left[now] -= step[now]
        budget -= float(step[now].sum())
        loads -= np.bincount(items.lane, items.net * gone[items.item], loads.size)
    return 1.0 - left / np.maximum(items.moved, noise)


def _mixed(
    candidate: Plan,
    keys: NDArray[np.uint64],
    hosts: int,
    portions: NDArray[np.float64],
    items: _Items,
) -> Plan:
    item, lane = (
        np.concatenate(pair) for pair in zip(items.before[:2], items.after[:2], strict=True)
    )
    share = np.concatenate(
        (
            items.before[2] * (1.0 - portions[items.before[0]]),
            items.after[2] * portions[items.after[0]],
        )
    )
    there = share > 1e-9
    item, lane, share = item[there], lane[there], share[there]
    _, first, inverse = np.unique(
        item * candidate.lanes + lane, return_index=True, return_inverse=True
    )
    share = np.asarray(np.bincount(inverse, share, first.size), dtype=np.float64)
    order = np.lexsort((first, item[first]))
    item, lane, share = item[first][order], lane[first][order], share[order]
    host_lanes = lane[:hosts].astype(np.int32)
    item, lane, share = item[hosts:] - hosts, lane[hosts:], share[hosts:]
    # A key that only the running plan names, and that now stands where its host is, is tail again.
    at_host = host_lanes[host_of(keys, hosts)]
    alone = np.bincount(item, minlength=keys.size) == 1
    home = np.zeros(keys.size, dtype=bool)
    home[item] = lane == at_host[item]
    named = ~(alone & home) | np.isin(keys, candidate.keys)
    kept = named[item]
    item, lane, share = item[kept], lane[kept], share[kept]
    counts = np.bincount(item, minlength=keys.size)[named]
    starts = np.zeros(counts.size + 1, dtype=np.int32)
    np.cumsum(counts, out=starts[1:])
    return Plan.from_arrays(
        candidate.lanes,
        keys[named],
        starts,
        lane.astype(np.int32),
        share,
        host_lanes,
        candidate.maker,
    )
