"""KIPUPDATE, Algorithm 1 of the DR paper, on plain lists."""

from __future__ import annotations

ROUNDING = 1e-12


def kip_update(
    weights: list[float],
    total: float,
    before: list[int],
    hash_lane: list[int],
    host_weights: list[float],
    hosts: list[int],
    slack: float,
    capacities: list[float],
) -> tuple[list[int], list[int]]:
    """Return the lane of each heavy key, heaviest first, and the lane of each host."""
    lanes = len(capacities)
    freq = [w / total for w in weights]
    host_freq = [w / total for w in host_weights]
    hosts = list(hosts)
    max_load = max(1.0 / lanes, (freq[0] if freq else 0.0) / max(capacities)) + slack
    limit = [max_load * c for c in capacities]
    load = [0.0] * lanes
    placed = []
    for f, old, hashed in zip(freq, before, hash_lane, strict=True):
        if load[old] < limit[old] - f:
            lane = old
        elif load[hashed] < limit[hashed] - f:
            lane = hashed
        else:
            lane = min(range(lanes), key=lambda p: ((load[p] + f) / limit[p], p))
        placed.append(lane)
        load[lane] += f
    for host, lane in enumerate(hosts):
        load[lane] += host_freq[host]

    def move(host: int) -> None:
        f = host_freq[host]
        lane = min(range(lanes), key=lambda p: (load[p] / limit[p], p))
        if load[lane] < limit[lane] - f:
            load[hosts[host]] -= f
            load[lane] += f
            hosts[host] = lane

    for lane in range(lanes):
        if load[lane] <= limit[lane] + ROUNDING:
            continue
        mine = [h for h in range(len(hosts)) if hosts[h] == lane and host_freq[h] > 0]
        mine.sort(key=lambda h: (-host_freq[h], h))
        for host in mine:
            if host_freq[host] <= load[lane] - limit[lane]:
                move(host)
        for host in reversed(mine):
            if load[lane] > limit[lane] + ROUNDING and hosts[host] == lane:
                move(host)
    return placed, hosts
