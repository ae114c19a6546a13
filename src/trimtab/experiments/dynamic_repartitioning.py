"""Dynamic Repartitioning with KIP (2021): Figures 2 to 5, 7 and 8; Figure 6 is Flink's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab import Histogram, Plan, hash_keys, planner, router
from trimtab.experiments.base import Finding, Panel, Row, Setting, judged, mean
from trimtab.metrics import max_over_mean
from trimtab.planners import Planner
from trimtab.simulate import Job, StageCosts, micro_batches
from trimtab.simulate.stages import stage_seconds
from trimtab.workloads import Law
from trimtab.workloads.laws import music_tags
from trimtab.workloads.web import WebPages

Hashes = NDArray[np.uint64]


def _next_batch(maker: Planner, batches: Hashes, top: int) -> float:
    """Return max/mean of a batch under the plan that was made from the batch before."""
    plan = maker.plan(Histogram.from_hashes(batches[0], top=top))
    return max_over_mean(np.bincount(plan.route(batches[1]), minlength=maker.lanes))


def figure_2(setting: Setting) -> Finding:
    """Measure load imbalance by partitions, and KIP's by the size of its histogram."""
    rows: list[Row] = []
    names = ("hash", "readj", "redist", "scan", "mixed", "kip")
    for seed in setting.seed_numbers:
        size = setting.size(200_000, 50_000)
        batches = Law(100_000, 1.0).hashes(2 * size, seed).reshape(2, size)
        top_share = Histogram.from_hashes(batches[1], top=1).shares[0]
        for lanes in (8, 16, 24, 32, 40):
            bound = max(1.0, lanes * top_share)
            for name in names:
                if name in ("readj", "redist") and lanes > 24:
                    continue  # their time grows with the cube of the lanes
                ratio = _next_batch(planner(name, lanes=lanes), batches, 2 * lanes)
                rows.append(_ratio_row("methods", lanes, name, seed, ratio, bound))
            for factor in (1, 2, 3, 4):
                kip = planner("kip", lanes=lanes, heavy_per_lane=factor)
                ratio = _next_batch(kip, batches, factor * lanes)
                rows.append(_ratio_row("lambda", lanes, f"kip {factor}", seed, ratio, bound))

    def at(name: str, lanes: int, value: str = "max_over_mean") -> float:
        part = "lambda" if name.startswith("kip ") else "methods"
        return mean(rows, value, part=part, method=name, lanes=lanes)

    counts = (8, 16, 24, 32, 40)
    over = max(at("kip", lanes, "over_bound") for lanes in counts)
    by_factor = {
        factor: sum(at(f"kip {factor}", lanes, "over_bound") for lanes in counts) / len(counts)
        for factor in (1, 2, 3, 4)
    }
    claims = (
        judged(
            "Hash and Readj grow with the partitions; KIP's imbalance stays below 1.2",
            "below 1.2",
            f"at 40 partitions hash {at('hash', 40):.2f}, KIP {at('kip', 40):.2f}, where "
            f"{at('kip', 40) / at('kip', 40, 'over_bound'):.2f} is the heaviest key alone; KIP is "
            f"at most {over:.2f} of the bound",
            holds=at("kip", 40) < 1.2,
            in_part=over < 1.2,
            reason="with Zipf 1 and 100,000 keys the heaviest has 8.3 % of the stream: whole, it "
            "alone puts a partition of 40 at 3.3 times the mean. Below 1.2 holds of what is "
            "possible",
        ),
        judged(
            "KIP is more level than Mixed, Scan, Redist and Readj",
            "KIP lowest",
            f"at 24 partitions KIP {at('kip', 24):.2f}, Mixed {at('mixed', 24):.2f}, Scan "
            f"{at('scan', 24):.2f}, Redist {at('redist', 24):.2f}, Readj {at('readj', 24):.2f}",
            holds=all(at("kip", 24) <= at(n, 24) for n in names[:-1]),
            in_part=all(at("kip", 24) <= 1.03 * at(n, 24) for n in names[:-1]),
            reason="Mixed, with its bound tuned beforehand, is as level",
        ),
        judged(
            "A larger histogram makes KIP more level",
            "lambda 4 best",
            "over the bound, on average, with lambda 1 to 4: "
            + ", ".join(f"{ratio:.3f}" for ratio in by_factor.values()),
            holds=by_factor[4] < by_factor[1] - 0.05,
            in_part=by_factor[4] < by_factor[1] + 0.02,
            reason="from 16 partitions on the heaviest key alone is the bound, and one known key "
            "per partition is enough to keep the others off it",
        ),
    )
    panels = (
        Panel("lanes", "max_over_mean", "method", "Methods", {"part": "methods"}),
        Panel("lanes", "over_bound", "method", "KIP over the bound", {"part": "lambda"}),
    )
    return Finding(rows, panels, claims, "the plan of one batch, measured on the next")


def _ratio_row(part: str, lanes: int, method: str, seed: int, ratio: float, bound: float) -> Row:
    return {
        "part": part,
        "lanes": lanes,
        "method": method,
        "seed": seed,
        "max_over_mean": ratio,
        "over_bound": ratio / bound,
    }


def figure_3(setting: Setting) -> Finding:
    """Follow a stream of tags for 20 batches: imbalance, and state that each update moves."""
    rows: list[Row] = []
    lanes, window, count = 20, 5, 20
    size = setting.size(100_000, 20_000)
    law = music_tags()
    for seed in setting.seed_numbers:
        # Popularity wanders: every batch is drawn by the law, ranks of some tags trade places.
        random = np.random.default_rng([seed, 7])
        names = random.permutation(law.keys)
        shares = np.cumsum(law.shares())
        batches = []
        for _ in range(count):
            trade = random.integers(0, 200, 6)
            names[trade] = names[random.permutation(trade)]
            ranks = np.minimum(np.searchsorted(shares, random.random(size)), law.keys - 1)
            batches.append(hash_keys(names[ranks]))
        for name in ("hash", "scan", "readj", "kip"):
            maker = planner(name, lanes=lanes)
            plan = Plan(lanes)
            for number, batch in enumerate(batches):
                loads = np.bincount(plan.route(batch), minlength=lanes)
                kept = batches[max(0, number + 1 - window) : number + 1]
                state = Histogram.from_hashes(np.concatenate(kept))
                following = maker.plan(Histogram.from_hashes(batch, top=2 * lanes), plan)
                rows.append(
                    {
                        "method": name,
                        "seed": seed,
                        "batch": number,
                        "max_over_mean": max_over_mean(loads),
                        "moved": plan.moved(following, state),
                    }
                )
                plan = following
    later = [row for row in rows if int(row["batch"]) >= window]
    level = {n: mean(later, "max_over_mean", method=n) for n in ("hash", "scan", "readj", "kip")}
    moved = {n: mean(later, "moved", method=n) for n in ("scan", "readj", "kip")}
    better = {n: 1 - level["kip"] / level[n] for n in ("hash", "scan", "readj")}
    claims = (
        judged(
            "KIP improves imbalance by 41 %, 29 % and 26 % over Hash, Scan and Readj",
            "41 %, 29 %, 26 %",
            ", ".join(f"{gain:.0%} over {n}" for n, gain in better.items())
            + f" (KIP {level['kip']:.2f})",
            holds=better["hash"] >= 0.3 and min(better.values()) >= 0.1,
            in_part=min(better.values()) > 0.0,
            reason="our Scan and Readj start from a ring that is level to begin with",
        ),
        judged(
            "KIP moves four times less state than Readj",
            "factor 4",
            f"{moved['kip']:.2%} per batch, Readj {moved['readj']:.2%}",
            holds=moved["readj"] >= 4 * moved["kip"],
            in_part=moved["readj"] > moved["kip"],
            reason="our Readj stops once its constraints are met",
        ),
        judged(
            "Scan moves even less than KIP, at the cost of balance",
            "Scan lowest",
            f"Scan {moved['scan']:.2%} and max/mean {level['scan']:.2f}, KIP {moved['kip']:.2%} "
            f"and {level['kip']:.2f}",
            holds=moved["scan"] < moved["kip"] and level["scan"] > level["kip"],
            in_part=level["scan"] > level["kip"],
            reason="both move next to nothing once the stream is stationary",
        ),
    )
    panels = (
        Panel("batch", "max_over_mean", "method", "Load imbalance"),
        Panel("batch", "moved", "method", "Share of state moved"),
    )
    note = "tags drawn by a law that we chose, since the paper states none"
    return Finding(rows, panels, claims, note)


COSTS = StageCosts(map_row=2e-6, map_key=0.0, reduce_row=2e-5, reduce_fragment=0.0, task=0.02)
"""Sorting and scoring a group's rows costs ten times as much as reading them."""


def _spark_seconds(
    z: float, lanes: int, cores: int, seed: int, setting: Setting
) -> tuple[dict[str, float], dict[str, float]]:
    """Return seconds and max/mean of a stream with hashing and with KIP."""
    size, count = setting.size(250_000, 50_000), 6
    keys = Law(1_000_000, z).hashes(size * count, seed).reshape(count, size)
    seconds, ratio = {}, {}
    for name in ("hash", "dr"):
        buckets: str | Planner = "hash" if name == "hash" else planner("kip", lanes=lanes)
        job = Job(10.0, cores, lanes, cores, COSTS, buckets)
        made = micro_batches(
            lambda n: router("shuffle", lanes=n), [(batch, None) for batch in keys], job
        )
        seconds[name] = float(made.processing.sum())
        # The first batch is hashed under both.
        ratio[name] = float(np.mean([max_over_mean(b.bucket_sizes) for b in made.batches[1:]]))
    return seconds, ratio


def figure_4(setting: Setting) -> Finding:
    """Compare hashing and DR in micro-batches by skew: 35 partitions on 40 cores."""
    rows: list[Row] = []
    skews = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
    for seed in setting.seed_numbers:
        for z in skews:
            seconds, ratio = _spark_seconds(z, 35, 40, seed, setting)
            for name in ("hash", "dr"):
                rows.append(
                    {
                        "zipf": z,
                        "method": name,
                        "seed": seed,
                        "seconds": seconds[name],
                        "max_over_mean": ratio[name],
                    }
                )
    gains = {
        z: mean(rows, "seconds", method="hash", zipf=z) / mean(rows, "seconds", method="dr", zipf=z)
        for z in skews
    }
    peak = max(gains, key=gains.__getitem__)
    text = ", ".join(f"{gain:.2f}x at {z:g}" for z, gain in gains.items())
    claims = (
        judged(
            "DR helps at moderate exponents, and little near 1 and at very large ones",
            "humps in between",
            text,
            holds=1.0 < peak < 1.8 and gains[2.0] < gains[peak] and gains[1.0] < gains[peak],
            in_part=gains[2.0] < gains[peak],
            reason="at exponent 1 and 35 partitions the heaviest key has two and a half times a "
            "partition's share already: isolating it helps as much there as later",
        ),
    )
    panels = (
        Panel("zipf", "max_over_mean", "method", "Load imbalance"),
        Panel("zipf", "seconds", "method", "Processing time (s)"),
    )
    return Finding(rows, panels, claims, "micro-batch model")


def figure_5(setting: Setting) -> Finding:
    """Compare DR with over-partitioning at Zipf 1.5, 40 cores."""
    rows: list[Row] = []
    lanes = (20, 40, 80, 120, 200, 320)
    for seed in setting.seed_numbers:
        for count in lanes:
            seconds, ratio = _spark_seconds(1.5, count, 40, seed, setting)
            for name in ("hash", "dr"):
                rows.append(
                    {
                        "lanes": count,
                        "method": name,
                        "seed": seed,
                        "seconds": seconds[name],
                        "max_over_mean": ratio[name],
                    }
                )
    hashed = min(mean(rows, "seconds", method="hash", lanes=n) for n in lanes)
    times = {n: mean(rows, "seconds", method="dr", lanes=n) for n in lanes}
    best = min(times, key=times.__getitem__)
    claims = (
        judged(
            "Over-partitioning does not reach what DR reaches",
            "DR faster",
            f"best {hashed:.2f} s by hashing, {times[best]:.2f} s with DR",
            holds=times[best] < 0.98 * hashed,
            in_part=times[best] <= 1.02 * hashed,
            reason="at Zipf 1.5 the heaviest key is 38 % of all rows: both end up waiting for it",
        ),
        judged(
            "DR is best with 2 to 3 times as many partitions as slots",
            "2x to 3x",
            f"best with {best} partitions on 40 cores",
            holds=80 <= best <= 120,
            in_part=40 <= best <= 200,
            reason="isolation needs no spare partitions in the model; more only cost their start",
        ),
    )
    panels = (
        Panel("lanes", "seconds", "method", "Processing time (s)"),
        Panel("lanes", "max_over_mean", "method", "Load imbalance"),
    )
    return Finding(rows, panels, claims, "micro-batch model; a task takes 20 ms to start")


def _by_seconds(keys: Hashes, seconds: NDArray[np.float64]) -> Histogram:
    names, which = np.unique(keys, return_inverse=True)
    return Histogram.from_counts((names, np.bincount(which, seconds)), unit="seconds")


def _crawl(setting: Setting, seed: int, rounds: int) -> list[dict[str, float]]:
    """Crawl round by round, ever more pages; return seconds and balance of both methods."""
    lanes, cores = 64, 64
    found = []
    plan = Plan(lanes)
    maker = planner("kip", lanes=lanes, heavy_per_lane=4)
    for number in range(rounds):
        pages = setting.size(10_000 * 2**number // 2, 2_000)
        hosts, seconds = WebPages().pages(pages, seed)
        keys = hash_keys(hosts)
        row: dict[str, float] = {"round": number + 1}
        for name, lane in (("hash", Plan(lanes).route(keys)), ("dr", plan.route(keys))):
            tasks = np.bincount(lane, weights=seconds, minlength=lanes).astype(np.float64)
            row[f"{name}_seconds"] = stage_seconds(tasks, cores)
            row[f"{name}_ratio"] = max_over_mean(np.bincount(lane, minlength=lanes))
        found.append(row)
        # The next round is planned from the seconds that hosts have taken in this one.
        plan = maker.plan(_by_seconds(keys, seconds), plan)
    return found


def _crawl_rows(setting: Setting) -> list[Row]:
    rows: list[Row] = []
    for seed in setting.seed_numbers:
        for found in _crawl(setting, seed, 7):
            for name in ("hash", "dr"):
                rows.append(
                    {
                        "round": int(found["round"]),
                        "method": name,
                        "seed": seed,
                        "seconds": found[f"{name}_seconds"],
                        "max_over_mean": found[f"{name}_ratio"],
                        "speedup": found["hash_seconds"] / found[f"{name}_seconds"],
                    }
                )
    return rows


def figure_7(setting: Setting) -> Finding:
    """Compare fetch lists of a crawl's seventh round, hashed and repartitioned."""
    rows = [row for row in _crawl_rows(setting) if row["round"] == 7]
    speedup = mean(rows, "speedup", method="dr")
    claims = (
        judged(
            "DR cuts the seventh crawl round from 69.1 to 24.9 minutes",
            "2.8x",
            f"{speedup:.2f}x ({mean(rows, 'seconds', method='hash'):.0f} s to "
            f"{mean(rows, 'seconds', method='dr'):.0f} s in the model)",
            holds=speedup >= 2.0,
            in_part=speedup >= 1.1,
            reason="one host's pages stay together for politeness: the busiest host is the bound, "
            "and how far hashing is above it depends on the crawl",
        ),
    )
    panels = (Panel("method", "seconds", "seed", "Seventh round (s)"),)
    return Finding(rows, panels, claims, "drawn pages of 5,000 hosts with heavy-tailed seconds")


def figure_8(setting: Setting) -> Finding:
    """Follow the speed-up over crawl rounds, and entity recognition by host."""
    rows = _crawl_rows(setting)
    gains = [mean(rows, "speedup", method="dr", round=n) for n in range(1, 8)]
    entities: list[float] = []
    for seed in setting.seed_numbers:
        # Sorting and a model per host: cost grows faster than the host's pages.
        hosts, seconds = WebPages(z=1.0, tail=1.4).pages(setting.size(40_000, 10_000), seed)
        keys = hash_keys(hosts)
        plan = planner("kip", lanes=36, heavy_per_lane=4).plan(_by_seconds(keys, seconds))
        hashed, level = (
            np.bincount(p.route(keys), weights=seconds, minlength=36).max()
            for p in (Plan(36), plan)
        )
        entities.append(float(hashed / level))
    gain = sum(entities) / len(entities)
    claims = (
        judged(
            "DR speeds crawl rounds up, the later ones more",
            "up to 2.8x",
            "round by round " + ", ".join(f"{g:.2f}x" for g in gains),
            holds=gains[-1] >= 1.5 and gains[-1] >= gains[1],
            in_part=gains[-1] > 1.0,
            reason="the first round is hashed; from the second on the plan knows its hosts, and "
            "later rounds do not skew further",
        ),
        judged(
            "DR speeds up entity recognition by a factor of 6",
            "6x",
            f"{gain:.1f}x",
            holds=gain >= 4.0,
            in_part=gain >= 1.2,
            reason="the bound is the costliest host: six times needs six such hosts on one "
            "partition under hashing",
        ),
    )
    panels = (Panel("round", "speedup", "method", "Speed-up over hashing"),)
    return Finding(rows, panels, claims, "drawn pages; the model of a stage, not a crawler")
