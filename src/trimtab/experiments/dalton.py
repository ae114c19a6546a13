"""Dalton (VLDB 2022): Figures 7 to 9, how it scales and adapts, tuple by tuple and in batches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab._pairs import Pairs
from trimtab.experiments._dalton_runs import (
    FRAGMENT_SECONDS,
    PARALLELISM,
    RIVALS,
    SKEWED,
    TUPLE_SECONDS,
    Hashes,
    by_slot,
    lanes_of,
    laws,
    run,
    settled,
    slots_of,
    sources_of,
)
from trimtab.experiments.base import Finding, Panel, Row, Setting, judged, mean
from trimtab.workloads import Law
from trimtab.workloads.mixtures import alternating


def _scaling(setting: Setting, names: Sequence[str], batches: bool) -> list[Row]:
    rows: list[Row] = []
    for seed in setting.seed_numbers:
        for data, law in laws().items():
            slots = slots_of(law, setting, seed)
            for parallelism in PARALLELISM:
                for name in names:
                    rate = settled(run(name, slots, parallelism, seed, batches=batches))
                    rows.append(
                        {
                            "data": data,
                            "parallelism": parallelism,
                            "algorithm": name,
                            "seed": seed,
                            "throughput": rate,
                        }
                    )
    return rows


def _ahead(rows: Sequence[Row], data: str, parallelism: int, rivals: Sequence[str]) -> float:
    best = max(
        mean(rows, "throughput", data=data, parallelism=parallelism, algorithm=n) for n in rivals
    )
    mine = mean(rows, "throughput", data=data, parallelism=parallelism, algorithm="dalton")
    return mine / best


def _grown(rows: Sequence[Row], data: str, name: str) -> float:
    """Return throughput at 64 over throughput at 8."""
    few, many = (
        mean(rows, "throughput", data=data, parallelism=p, algorithm=name) for p in (8, 64)
    )
    return many / few


_SCALING = tuple(
    Panel("parallelism", "throughput", "algorithm", data, {"data": data})
    for data in ("T4SA", "Elections", "Zipf 1.5")
)


def figure_7(setting: Setting) -> Finding:
    """Measure how a word count scales with combiners, tuple at a time."""
    names = (*RIVALS, "dalton", "trim")
    rows = _scaling(setting, names, batches=False)
    grown = {data: _grown(rows, data, "dalton") for data in laws()}
    hashed = {data: _grown(rows, data, "hash") for data in laws()}
    ahead = {p: _ahead(rows, "Zipf 1.5", p, RIVALS) for p in PARALLELISM}
    worst = {
        name: mean(rows, "throughput", data="Zipf 1.5", parallelism=64, algorithm="dalton")
        / mean(rows, "throughput", data="Zipf 1.5", parallelism=64, algorithm=name)
        for name in (*RIVALS, "trim")
    }
    uniform = _ahead(rows, "T4SA", 64, ("hash",))
    claims = (
        judged(
            "Hashing scales on near-uniform data and not on skewed data",
            "flat when skewed",
            f"8 to 64 workers: {hashed['T4SA']:.1f}x on T4SA-like, {hashed['Zipf 1.5']:.1f}x on "
            "Zipf 1.5",
            holds=hashed["T4SA"] > 2.5 and hashed["Zipf 1.5"] < 1.5,
        ),
        judged(
            "Dalton scales almost linearly whatever the distribution",
            "about 8x from 8 to 64",
            ", ".join(f"{gain:.1f}x on {data}" for data, gain in grown.items()),
            holds=min(grown.values()) >= 6.0,
            in_part=min(grown.values()) >= 2.5,
            reason="on 56 combiners a key of 2 to 3 % is hot and explored on all of them, and keys "
            "just below the threshold meet by chance",
        ),
        judged(
            "Under skew Dalton outperforms existing approaches by 1.5 to 6.7 times",
            "1.5x to 6.7x",
            f"at Zipf 1.5 on 64 workers {worst['dagreedy']:.1f}x DAGreedy to "
            f"{worst['hash']:.1f}x hashing; {ahead[64]:.2f}x the best rival (our trim is at "
            f"{1 / worst['trim']:.2f} of Dalton)",
            holds=ahead[64] >= 1.3,
            in_part=ahead[64] >= 0.9,
            reason="far ahead of all that split by a fixed rule; DAGreedy, with a threshold of a "
            "hundredth of a fair share and key forwarding, needs to learn nothing, and 240,000 "
            "tuples are few for a bandit on 56 lanes",
        ),
        judged(
            "On near-uniform data Dalton behaves almost like hashing",
            "minimal splitting",
            f"{uniform:.2f}x hashing's throughput on T4SA-like tags and 64 workers",
            holds=uniform >= 0.9,
            in_part=uniform >= 0.7,
            reason="an eighth of the workers reduce, which hashing does not need",
        ),
    )
    return Finding(rows, _SCALING, claims, "slides of 10,000 tuples, windows of 10 slides")


def figure_8(setting: Setting) -> Finding:
    """Measure how a word count scales with combiners in micro-batches."""
    names = ("hash", "cam", "shuffle", "two-choices", "cm", "prompt", "dalton")
    rows = _scaling(setting, names, batches=True)
    ahead = _ahead(rows, "Zipf 1.5", 64, names[:-1])
    least = min(
        mean(rows, "throughput", data="Zipf 1.5", parallelism=64, algorithm="dalton")
        / mean(rows, "throughput", data="Zipf 1.5", parallelism=64, algorithm=name)
        for name in ("hash", "cam", "cm", "two-choices")
    )
    gap = mean(rows, "throughput", data="T4SA", parallelism=64, algorithm="shuffle") / mean(
        rows, "throughput", data="T4SA", parallelism=64, algorithm="hash"
    )
    slots = slots_of(laws()["T4SA"], setting, 1)
    before = settled(run("shuffle", slots, 64, 1)) / settled(run("hash", slots, 64, 1))
    claims = (
        judged(
            "In micro-batches Dalton outperforms others by 1.6 to 2.1 times under skew",
            "1.6x to 2.1x",
            f"{ahead:.2f}x the best rival, at least {least:.1f}x hashing, cAM, CM and two choices",
            holds=ahead >= 1.3,
            in_part=least >= 1.3,
            reason="Prompt and shuffle are level in every batch as well, and a batch holds too few "
            "tuples per lane for a bandit to be leveller than a plan",
        ),
        judged(
            "In micro-batches hashing and key splitting differ less",
            "smaller difference",
            f"shuffle has {gap:.2f} of hashing's throughput on T4SA-like tags, {before:.2f} where "
            "it is tuple by tuple",
            holds=abs(math.log(gap)) < abs(math.log(before)),
            reason="in batches everybody merges, so that shuffle is ahead for being level",
        ),
    )
    return Finding(rows, _SCALING, claims, "batches of 10,000 tuples; all results are merged")


def _clustering(name: str, slots: Sequence[Hashes], parallelism: int, seed: int) -> list[float]:
    """Return tuples per second of correlation clustering in each slot.

    VOTE compares every new tuple with those of its key that its combiner has: quadratic. GREEDY
    goes over the fragments of a key once more.
    """
    combiners, reducers = lanes_of(name, parallelism)
    sources = sources_of(name, combiners, seed)
    rates = []
    for keys in slots:
        lanes = sources.route(keys)
        sources.end_slot(keys)
        pairs = Pairs.of(keys, lanes)
        sizes = np.bincount(pairs.ids, minlength=pairs.replicas).astype(np.float64)
        work = np.bincount(pairs.lane, sizes * (1 + sizes / 200), combiners) * TUPLE_SECONDS
        fragments = np.bincount(pairs.key, minlength=pairs.keys)
        merging = fragments[fragments > 1].astype(np.float64) ** 2
        second = merging.sum() / reducers * 5 * FRAGMENT_SECONDS
        rates.append(keys.size / max(float(work.max()), float(second)))
    return rates


def figure_9(setting: Setting) -> Finding:
    """Follow the throughput while the distribution changes: word count, batches, clustering."""
    rows: list[Row] = []
    size, count, every, workers = setting.size(10_000, 5_000), 60, 15, 32
    names = (*RIVALS, "dalton")
    uniform = Law(100_000, 0.0)
    random = np.random.default_rng(5)
    wandering = [Law(100_000, float(z)) for z in random.uniform(0.5, 1.5, 8)]
    for seed in setting.seed_numbers:
        turns = list(alternating([uniform, SKEWED], count, size, every, seed))
        mixed = list(alternating(wandering, count, size, every // 2, seed))
        for name in names:
            rates = {
                "word count": by_slot(run(name, turns, workers, seed)),
                "clustering": np.array(_clustering(name, turns, workers, seed)),
                "random Zipf": by_slot(run(name, mixed, workers, seed)),
            }
            if name != "dagreedy":
                rates["micro-batch"] = by_slot(run(name, turns, workers, seed, batches=True))
            for part, found in rates.items():
                for slot, sustained in enumerate(found):
                    skewed = part == "random Zipf" or (slot // every) % 2 == 1
                    rows.append(
                        {
                            "part": part,
                            "slot": slot,
                            "algorithm": name,
                            "seed": seed,
                            "skewed": int(skewed),
                            "throughput": float(sustained),
                        }
                    )

    def rate(part: str, name: str, skewed: int = 1) -> float:
        return mean(rows, "throughput", part=part, algorithm=name, skewed=skewed)

    def ahead(part: str) -> tuple[float, float]:
        others = [rate(part, n) for n in names[:-1] if (part, n) != ("micro-batch", "dagreedy")]
        return rate(part, "dalton") / max(others), rate(part, "dalton") / min(others)

    spans = {part: ahead(part) for part in ("word count", "micro-batch", "clustering")}
    calm = rate("word count", "dalton", 0) / rate("word count", "hash", 0)
    wander = ahead("random Zipf")
    text = "; ".join(f"{part} {a:.2f}x to {b:.1f}x" for part, (a, b) in spans.items())
    claims = (
        judged(
            "While the stream is skewed Dalton outperforms all others in three tasks",
            "1.3x to 6x, 1.1x to 1.8x, 1.1x to 1.8x",
            text,
            holds=min(a for a, _ in spans.values()) >= 1.1,
            in_part=min(a for a, _ in spans.values()) >= 0.6,
            reason="tuple by tuple it does, as the paper says; in batches shuffle is level without "
            "having to learn, and all results are merged for everybody",
        ),
        judged(
            "While it is uniform Dalton achieves the performance of hashing",
            "equal",
            f"{calm:.2f}x hashing's throughput",
            holds=calm >= 0.85,
            in_part=calm >= 0.5,
            reason="an eighth of the workers reduce; keys that were hot are split until they leave "
            "the window",
        ),
        judged(
            "With Zipf exponents that change at random Dalton has 1.1 to 1.3 times the throughput",
            "1.1x to 1.3x",
            f"{wander[0]:.2f}x to {wander[1]:.1f}x",
            holds=wander[0] >= 1.1,
            in_part=wander[1] >= 1.1 and wander[0] >= 0.6,
            reason="far ahead of all but DAGreedy, which counts every slide anew and is as fast",
        ),
    )
    panels = tuple(
        Panel("slot", "throughput", "algorithm", part, {"part": part})
        for part in ("word count", "micro-batch", "clustering", "random Zipf")
    )
    return Finding(rows, panels, claims, "changes every 15 slides, 32 workers")
