"""Consistent Grouping: Figures 4 to 6, 9, 10 and Table 1, which measure where keys go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.experiments._grouping_schemes import (
    EPSILON,
    SCHEMES,
    WORKERS,
    grouping,
    measured,
    pages,
    scheme,
)
from trimtab.experiments.base import Finding, Panel, Row, Setting, judged, mean
from trimtab.metrics import replication
from trimtab.simulate import Sources
from trimtab.workloads import Law
from trimtab.workloads.laws import tweet_words


def figure_4(setting: Setting) -> Finding:
    """Measure imbalance and memory by skew and by the number of virtual workers."""
    rows: list[Row] = []
    skews, bins = (0.4, 0.8, 1.2, 1.6, 2.0), (10, 100, 1000)
    for seed in setting.seed_numbers:
        for z in skews:
            keys = Law(100_000, z).hashes(setting.size(400_000, 100_000), seed)
            for count in bins:
                for symbol in SCHEMES:
                    found = measured(scheme(symbol, count, seed), keys)
                    rows.append({"zipf": z, "bins": count, "scheme": symbol, "seed": seed, **found})
    high = min(mean(rows, "imbalance", scheme=s, zipf=2.0, bins=1000) for s in ("KG", "PKG"))
    grows = all(
        mean(rows, "imbalance", scheme=s, zipf=2.0, bins=1000)
        > mean(rows, "imbalance", scheme=s, zipf=2.0, bins=100)
        > mean(rows, "imbalance", scheme=s, zipf=2.0, bins=10)
        for s in ("KG", "PKG")
    )
    others = max(
        mean(rows, "imbalance", scheme=s, zipf=z, bins=n)
        for s in ("PoTC", "PoRC", "CH", "SG")
        for z in skews
        for n in bins
    )
    claims = (
        judged(
            "Hashing and PKG become unbalanced as skew and virtual workers grow; PoTC, PoRC, CH "
            "and SG do not",
            "high; fairly well",
            f"hashing and PKG at least {high:.0f} at Zipf 2 on 1,000; the others at most "
            f"{others:.3f} anywhere",
            holds=high > 10 and grows and others < 0.1,
        ),
    )
    panels = tuple(
        Panel("zipf", "imbalance", "scheme", f"{n:,} virtual workers", {"bins": n}, True)
        for n in bins
    )
    return Finding(rows, panels, claims)


def table_1(setting: Setting) -> Finding:
    """Measure normalised imbalance on 10 to 10,000 virtual workers, epsilon 0.3."""
    theirs = {
        ("WP", "KG"): (0.8, 9.15, 93, 931),
        ("WP", "PKG"): (8e-7, 3.67, 45.59, 464),
        ("TW", "KG"): (2.2, 25, 246, 2469),
        ("TW", "PKG"): (1.52, 11.34, 22, 1233),
    }
    rows: list[Row] = []
    bins = (10, 100, 1000, 10_000)
    for seed in setting.seed_numbers:
        tweets = tweet_words(0.3).hashes(setting.size(1_000_000, 200_000), seed)
        streams = {"WP": pages(setting, seed), "TW": tweets}
        for data, keys in streams.items():
            for count in bins:
                for symbol in SCHEMES:
                    found = measured(scheme(symbol, count, seed, 0.3), keys)
                    rows.append(
                        {"data": data, "bins": count, "scheme": symbol, "seed": seed, **found}
                    )

    def at(data: str, symbol: str, count: int) -> float:
        return mean(rows, "imbalance", data=data, scheme=symbol, bins=count)

    def figures(data: str, symbol: str) -> str:
        return ", ".join(f"{at(data, symbol, n):.3g}" for n in bins)

    def ratios(data: str) -> list[float]:
        return [
            at(data, symbol, n) / theirs[data, symbol][i]
            for symbol in ("KG", "PKG")
            for i, n in enumerate(bins)
            if n >= 1000
        ]

    bounded = max(at(d, s, n) for d in ("WP", "TW") for s in ("PoRC", "CH") for n in bins[:3])
    share = (theirs["TW", "KG"][3] + 1) / 10_000
    claims = (
        judged(
            "On Wikipedia's pages hashing and PKG grow with the virtual workers as in Table 1",
            "KG 0.8, 9.15, 93, 931; PKG 8e-7, 3.67, 45.6, 464",
            f"KG {figures('WP', 'KG')}; PKG {figures('WP', 'PKG')}",
            holds=all(0.85 < ratio < 1.15 for ratio in ratios("WP")),
        ),
        judged(
            "On words of tweets, too",
            "KG 2.2, 25, 246, 2469; PKG 1.52, 11.3, 22, 1233",
            f"KG {figures('TW', 'KG')}; PKG {figures('TW', 'PKG')}",
            holds=all(0.85 < ratio < 1.15 for ratio in ratios("TW")),
            reason="hashing n bins gives n times the top share, less one: the paper's figures need "
            f"a word with {share:.0%} of all tuples, and its Table 2 says 2.67 %. The 22 of PKG "
            "on 1,000 stands alone, too: half of 246 is 122",
        ),
        judged(
            "PoRC and CH keep to epsilon on any number of virtual workers",
            "0.3",
            f"at most {bounded:.3f} on 10 to 1,000",
            holds=bounded < 0.31,
        ),
    )
    panels = (
        Panel("bins", "imbalance", "scheme", "Wikipedia", {"data": "WP"}, True),
        Panel("bins", "imbalance", "scheme", "Tweets", {"data": "TW"}, True),
    )
    return Finding(rows, panels, claims, "streams drawn by the stated laws, keys scaled down")


def figure_5(setting: Setting) -> Finding:
    """Measure CG's imbalance and memory by epsilon: 10 workers of 10 virtual workers."""
    rows: list[Row] = []
    values = (0.001, 0.01, 0.1, 0.5, 1.0, 5.0)
    for seed in setting.seed_numbers:
        keys = pages(setting, seed)
        for epsilon in values:
            found = measured(grouping(10, seed, epsilon=epsilon), keys)
            rows.append({"epsilon": epsilon, "scheme": "CG", "seed": seed, **found})
        for symbol in ("KG", "SG"):
            found = measured(scheme(symbol, 10, seed), keys)
            for epsilon in values:
                rows.append({"epsilon": epsilon, "scheme": symbol, "seed": seed, **found})
    level = [mean(rows, "imbalance", scheme="CG", epsilon=e) for e in values]
    memory = [mean(rows, "memory", scheme="CG", epsilon=e) for e in values]
    bounds = mean(rows, "memory", scheme="KG"), mean(rows, "memory", scheme="SG")
    claims = (
        judged(
            "Epsilon trades imbalance against memory, between key grouping and shuffling",
            "low epsilon level, high epsilon small",
            f"imbalance {level[0]:.3f} to {level[-1]:.2f}, lanes per key {memory[0]:.2f} to "
            f"{memory[-1]:.3f}; KG {bounds[0]:.2f}, SG {bounds[1]:.2f}",
            holds=level[0] < level[-1] and bounds[0] <= memory[-1] < memory[0] <= bounds[1],
        ),
    )
    panels = (
        Panel("epsilon", "imbalance", "scheme", "Imbalance", logarithmic=True),
        Panel("epsilon", "memory", "scheme", "Lanes per key"),
    )
    return Finding(rows, panels, claims)


def _by_workers(setting: Setting, schemes: Sequence[str], bins: int) -> list[Row]:
    rows: list[Row] = []
    for seed in setting.seed_numbers:
        keys = pages(setting, seed)
        for workers in WORKERS:
            for symbol in schemes:
                if symbol == "CG":
                    chosen = grouping(workers, seed)
                else:
                    chosen = scheme(symbol, bins * workers, seed)
                found = measured(chosen, keys)
                rows.append({"workers": workers, "scheme": symbol, "seed": seed, **found})
    return rows


_BY_WORKERS = (
    Panel("workers", "imbalance", "scheme", "Imbalance", logarithmic=True),
    Panel("workers", "memory", "scheme", "Lanes per key"),
)


def figure_6(setting: Setting) -> Finding:
    """Compare what may assign keys to virtual workers: 10 of them per worker."""
    rows = _by_workers(setting, tuple(SCHEMES), 10)

    def at(symbol: str, workers: int, value: str = "imbalance") -> float:
        return mean(rows, value, scheme=symbol, workers=workers)

    linear = [at(s, 100) / at(s, 50) for s in ("KG", "PKG")]
    bounded = max(at(s, w) for s in ("PoRC", "CH") for w in WORKERS)
    memory = {s: at(s, 100, "memory") for s in SCHEMES}
    claims = (
        judged(
            "Imbalance grows linearly with the workers for KG and PKG, and is bounded for CH and "
            "PoRC",
            "linear; about epsilon",
            f"from 50 to 100 workers KG and PKG grow {linear[0]:.1f}x and {linear[1]:.1f}x; CH and "
            f"PoRC at most {bounded:.3f}",
            holds=min(linear) > 1.7 and bounded < 3 * EPSILON,
        ),
        judged(
            "PoRC needs as little memory as PKG",
            "as low as PKG",
            f"lanes per key on 1,000 bins: PoRC {memory['PoRC']:.2f}, PKG {memory['PKG']:.2f}, CH "
            f"{memory['CH']:.2f}, SG {memory['SG']:.2f}",
            holds=memory["PoRC"] < 1.1 * memory["PKG"],
            in_part=memory["PoRC"] < 1.5 * memory["PKG"],
            reason="with epsilon 0.01 nearly every bin is full at any moment: keys overflow again "
            "and again",
        ),
    )
    return Finding(rows, _BY_WORKERS, claims)


def figure_9(setting: Setting) -> Finding:
    """Compare CG with the other schemes on 5 to 100 workers."""
    schemes = ("KG", "PKG", "PoTC", "CH", "SG", "CG")
    rows = _by_workers(setting, schemes, 1)

    def at(symbol: str, workers: int, value: str = "imbalance") -> float:
        return mean(rows, value, scheme=symbol, workers=workers)

    level = max(at("CG", w) for w in WORKERS)
    claims = (
        judged(
            "PKG is level on 5 and 10 workers and no more on 50 and 100",
            "nearly perfect, then grows",
            f"{at('PKG', 5):.4f}, {at('PKG', 10):.4f}, {at('PKG', 50):.2f}, {at('PKG', 100):.2f}",
            holds=at("PKG", 10) < 0.05 and at("PKG", 100) > 1.0,
        ),
        judged(
            "CG's imbalance is bounded on any number of workers",
            "bounded",
            f"at most {level:.3f}",
            holds=level < 3 * EPSILON,
        ),
        judged(
            "CG needs less memory than CH",
            "below CH",
            f"lanes per key on 100 workers: CG {at('CG', 100, 'memory'):.2f}, CH "
            f"{at('CH', 100, 'memory'):.2f}, SG {at('SG', 100, 'memory'):.2f}",
            holds=at("CG", 100, "memory") < at("CH", 100, "memory"),
            reason="CG's ten virtual workers per worker overflow ten times as often; on equal bins "
            "see Figure 6",
        ),
    )
    return Finding(rows, _BY_WORKERS, claims)


def figure_10(setting: Setting) -> Finding:
    """Measure imbalance and memory of CG with 1 to 100 sources."""
    rows: list[Row] = []
    for seed in setting.seed_numbers:
        keys = pages(setting, seed)
        for workers in WORKERS:
            for sources in (1, 10, 50, 100):
                many = Sources([grouping(workers, seed) for _ in range(sources)])
                lanes = many.route(keys)
                loads = np.bincount(lanes, minlength=workers)
                rows.append(
                    {
                        "workers": workers,
                        "sources": sources,
                        "seed": seed,
                        "imbalance": float(loads.max() / loads.mean() - 1),
                        "memory": replication(keys, lanes),
                    }
                )
    level = max(mean(rows, "imbalance", workers=w, sources=s) for w in WORKERS for s in (1, 100))
    memory = [mean(rows, "memory", workers=10, sources=s) for s in (1, 100)]
    claims = (
        judged(
            "Imbalance and memory stay the same with more sources and more workers",
            "about the same on a log scale",
            f"imbalance at most {level:.3f}; lanes per key on 10 workers {memory[0]:.2f} with 1 "
            f"source, {memory[1]:.2f} with 100",
            holds=level < 5 * EPSILON and memory[1] < 1.5 * memory[0],
            in_part=level < 1.0,
            reason="every source keeps its own share level, but sources that each see few tuples "
            "fill their bins by chance at other times: keys overflow differently",
        ),
    )
    panels = (
        Panel("sources", "imbalance", "workers", "Imbalance", logarithmic=True),
        Panel("sources", "memory", "workers", "Lanes per key"),
    )
    return Finding(rows, panels, claims)
