"""Dalton (VLDB 2022): Figures 13 to 15, several partitioners that learn together."""

from __future__ import annotations

import numpy as np

from trimtab.experiments._dalton_runs import (
    FRAGMENT_SECONDS,
    RIVALS,
    TUPLE_SECONDS,
    WINDOW,
    Hashes,
    lanes_of,
    run,
    settled,
    sources_of,
)
from trimtab.experiments.base import Finding, Panel, Row, Setting, judged, mean
from trimtab.metrics import max_over_mean
from trimtab.simulate import Cluster, Reducers, Service, stream
from trimtab.workloads import Law
from trimtab.workloads.mixtures import side_by_side

UNIFORM, SKEWED = Law(100_000, 0.0), Law(100_000, 1.5)
WORKERS = 32


def _mixed(laws: list[Law], setting: Setting, seed: int, count: int = 30) -> list[Hashes]:
    return list(side_by_side(laws, count, setting.size(10_000, 5_000), seed))


def figure_13(setting: Setting) -> Finding:
    """Compare two partitioners whose sources have different distributions."""
    rows: list[Row] = []
    names = (*RIVALS, "dalton")
    setups = {"uniform and Zipf": [UNIFORM, SKEWED], "two Zipfs": [SKEWED, SKEWED]}
    for seed in setting.seed_numbers:
        for setup, laws in setups.items():
            slots = _mixed(laws, setting, seed)
            for name in names:
                rate = settled(run(name, slots, WORKERS, seed, partitioners=2))
                rows.append({"setup": setup, "algorithm": name, "seed": seed, "throughput": rate})

    def at(setup: str, name: str) -> float:
        return mean(rows, "throughput", setup=setup, algorithm=name)

    ahead = {s: at(s, "dalton") / max(at(s, n) for n in RIVALS) for s in setups}
    most = {s: at(s, "dalton") / min(at(s, n) for n in RIVALS) for s in setups}
    greedy = {s: at(s, "hash") / at(s, "dagreedy") for s in setups}
    claims = (
        judged(
            "Two cooperating Daltons outperform existing techniques by 1.4 to 3.4 times",
            "1.4x to 3.4x",
            "; ".join(f"{s}: {ahead[s]:.2f}x the best, {most[s]:.1f}x the worst" for s in setups),
            holds=min(ahead.values()) >= 1.3,
            in_part=min(ahead.values()) >= 0.6,
            reason="ahead of all but DAGreedy, two of which level their own halves of the stream "
            "by themselves: sums of level loads are level",
        ),
        judged(
            "With one uniform source hashing beats DAGreedy; with two Zipfs it is the other way",
            "hash ahead; DAGreedy ahead",
            "hashing over DAGreedy: " + ", ".join(f"{g:.2f}x ({s})" for s, g in greedy.items()),
            holds=greedy["uniform and Zipf"] > 1.0 > greedy["two Zipfs"],
            in_part=greedy["two Zipfs"] < 1.0,
            reason="half of the stream at Zipf 1.5 still has a key with a fifth of all tuples, and "
            "hashing leaves it whole",
        ),
    )
    panels = (Panel("setup", "throughput", "algorithm", "Two partitioners"),)
    return Finding(rows, panels, claims, "32 workers")


def figure_14(setting: Setting) -> Finding:
    """Measure what the interval between messages does, and how it adapts."""
    rows: list[Row] = []
    intervals = (1_000, 4_000, 16_000, 64_000, 10**9)
    for seed in setting.seed_numbers:
        slots = _mixed([UNIFORM, SKEWED], setting, seed)
        for interval in intervals:
            shown = min(interval, 10**6)
            found = run("dalton", slots, WORKERS, seed, partitioners=2, interval=interval)
            rows.append(
                {
                    "part": "interval",
                    "x": float(shown),
                    "series": "dalton",
                    "seed": seed,
                    "y": settled(found),
                }
            )
    for slot, value in enumerate(_adapting(setting)):
        rows.append({"part": "adapts", "x": float(slot), "series": "slots", "seed": 1, "y": value})

    def rate(interval: int) -> float:
        return mean(rows, "y", part="interval", x=float(min(interval, 10**6)))

    best = max(rate(i) for i in intervals[:-1])
    adapts = [float(r["y"]) for r in rows if r["part"] == "adapts"]
    quarter = len(adapts) // 4
    later = [adapts[i * quarter + quarter // 2 : (i + 1) * quarter] for i in range(4)]
    levels = [float(np.median(part)) for part in later]
    claims = (
        judged(
            "Partitioners that never synchronise have low throughput; more messages improve it",
            "improves",
            f"the best interval has {best / rate(10**9):.2f}x the throughput of none",
            holds=best > 1.1 * rate(10**9),
            reason="a cooperating Dalton has no hot keys before its first answer, so that never is "
            "hashing",
        ),
        judged(
            "The interval doubles when the reducer gets slower and returns when it is fast again",
            "10 s, 20 s, 40 s, 10 s",
            "median slots between messages with answers after 1, 2, 4 and 1 slots: "
            + ", ".join(f"{value:.0f}" for value in levels),
            holds=levels[0] < levels[1] < levels[2] and levels[3] < levels[2],
            in_part=levels[2] > levels[0],
            reason="it doubles as said; it is halved again only in rounds in which the reducer "
            "waited longer than it worked",
        ),
    )
    panels = (
        Panel("x", "y", "series", "Throughput by interval (tuples)", {"part": "interval"}),
        Panel("x", "y", "series", "Slots between messages", {"part": "adapts"}),
    )
    return Finding(rows, panels, claims, "messages cost nothing but their delay")


def _adapting(setting: Setting) -> list[float]:
    """Return the interval, in slots, while answers take 1, 2, 4 and 1 slots."""
    size, count = setting.size(10_000, 5_000), 240
    combiners, _ = lanes_of("dalton", WORKERS)
    sources = sources_of("dalton", combiners, 1, 2, interval=size // 2, adapt=True)
    found = []
    for slot, keys in enumerate(side_by_side([UNIFORM, SKEWED], count, size, 1)):
        sources.answer_slots = (1, 2, 4, 1)[4 * slot // count]
        sources.route(keys)
        sources.end_slot(keys)
        found.append(sources.interval / (size / 2))
    return found


def figure_15(setting: Setting) -> Finding:
    """Follow imbalance and the top key's fragments with 1 to 8 partitioners."""
    rows: list[Row] = []
    combiners, reducers = lanes_of("dalton", WORKERS)
    counts = (1, 2, 4, 8)
    for seed in setting.seed_numbers:
        slots = _mixed([UNIFORM, SKEWED], setting, seed, 30)
        top = _top(slots)
        for count in counts:
            sources = sources_of("dalton", combiners, seed, count, **_every(count))
            fan: list[int] = []
            cluster = Cluster(
                Service(TUPLE_SECONDS), reducers=Reducers(reducers, FRAGMENT_SECONDS), window=WINDOW
            )
            found = stream(sources, slots, cluster)
            again = sources_of("dalton", combiners, seed, count, **_every(count))
            for keys in slots:
                lanes = again.route(keys)
                again.end_slot(keys)
                fan.append(int(np.unique(lanes[keys == top]).size))
            loads = found.of(lambda s: s.loads)
            for slot in range(len(found.slots)):
                # The bandit levels the window: a slide may make up for the ones before it.
                window = loads[max(0, slot + 1 - WINDOW) : slot + 1].sum(axis=0)
                rows.append(
                    {
                        "partitioners": str(count),
                        "slot": slot,
                        "seed": seed,
                        "imbalance": max_over_mean(window) - 1,
                        "fragments": fan[slot],
                    }
                )

    def end(count: int, value: str) -> float:
        found = [r for r in rows if r["partitioners"] == str(count) and int(r["slot"]) >= 20]
        return mean(found, value)

    level = {count: end(count, "imbalance") for count in counts}
    claims = (
        judged(
            "Learning converges to a stable cost with any number of partitioners",
            "stable",
            "imbalance in the last ten slides "
            + ", ".join(f"{value:.2f} ({count})" for count, value in level.items()),
            holds=max(level.values()) < 0.3,
            in_part=max(level.values()) < 1.5,
            reason="each of eight sees an eighth of the tuples and learns from fewer rewards",
        ),
        judged(
            "Two partitioners are slightly less level than one; more cost nothing further",
            "does not increase",
            f"{level[1]:.2f}, {level[2]:.2f}, {level[4]:.2f}, {level[8]:.2f} with 1, 2, 4, 8",
            holds=level[8] < 1.3 * level[2] + 0.05,
            in_part=level[8] < 2.0 * level[2] + 0.1,
            reason="between two answers all follow the same values and run to the same lanes",
        ),
    )
    panels = (
        Panel("slot", "imbalance", "partitioners", "Imbalance of the heaviest combiner"),
        Panel("slot", "fragments", "partitioners", "Lanes of the most frequent key"),
    )
    return Finding(rows, panels, claims, "half of the sources uniform, half Zipf 1.5")


def _every(partitioners: int) -> dict[str, int]:
    """Return messages that come as often with any number of partitioners: after 8,000 tuples."""
    return {} if partitioners == 1 else {"interval": 8_000 // partitioners}


def _top(slots: list[Hashes]) -> np.uint64:
    names, counts = np.unique(np.concatenate(slots), return_counts=True)
    return np.uint64(names[counts.argmax()])
