"""A Holistic View of Stream Partitioning Costs (VLDB 2017): Figures 5 to 9.

A window takes as long as its slowest worker, and then as long as one aggregator takes for all
partial results (Section 2.3): a unit of time per tuple, a unit per partial result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab import hash_keys
from trimtab.control.cost_model import Placement, makespan
from trimtab.experiments._holistic_windows import (
    MANY_CHOICES,
    MERGING,
    ONE_CHOICE,
    WORKERS,
    Hashes,
    best,
    percentile,
    router,
    sliding,
    taxi_trips,
    windows,
)
from trimtab.experiments.base import Finding, Panel, Row, Setting, judged, mean
from trimtab.workloads.taxi import route
from trimtab.workloads.tpch import TpcH


def figure_5(setting: Setting) -> Finding:
    """Measure the throughput of TPC-H's Query 1: four groups."""

    def stream(seed: int) -> Sequence[Hashes]:
        items = TpcH(0.05 * setting.scale, seed).line_items()
        return [hash_keys(np.char.add(items["returnflag"], items["linestatus"]))]

    symbols = (*MANY_CHOICES, "FLD-1", "AM-2", "AM-5", "cAM-2", "cAM-5")
    rows = windows(symbols, WORKERS, setting, stream)
    at = {s: mean(rows, "throughput", algorithm=s, workers=32) for s in symbols}
    second = max(v for s, v in at.items() if s != "SH-w")
    scaling = {s: at[s] / mean(rows, "throughput", algorithm=s, workers=8) for s in symbols}
    whole = max(scaling[s] for s in symbols if s not in MANY_CHOICES)
    claims = (
        judged(
            "With few groups, shuffling is best",
            "SH first, PK-5 second",
            f"SH {at['SH-w'] / second:.1f} times the next best, which is "
            f"{max((s for s in at if s != 'SH-w'), key=at.__getitem__)}, on 32 workers",
            holds=at["SH-w"] > second,
        ),
        judged(
            "One-choice partitioners do not scale with four groups",
            "constant",
            f"from 8 to 32 workers they gain at most {whole:.2f}x, SH {scaling['SH-w']:.2f}x",
            holds=whole < 1.3 and scaling["SH-w"] > 3.0,
        ),
    )
    panels = (Panel("workers", "throughput", "algorithm", "TPC-H Query 1 (tuples per s)"),)
    return Finding(rows, panels, claims, "our own generator of line items, scale factor 0.05")


def _query_3(setting: Setting, seed: int) -> Hashes:
    """Return the groups of Query 3: line items of orders of one segment, before the aggregate."""
    # Not scaled down: with fewer orders hashing is less level, and there is more to win.
    tables = TpcH(0.2 * max(1.0, setting.scale), seed)
    customers, orders, items = tables.customers(), tables.orders(), tables.line_items()
    day = 1169  # 1995-03-15
    building = customers["segment"] == "BUILDING"
    wanted = building[orders["custkey"].astype(np.int64) - 1] & (orders["orderdate"] < day)
    keys = orders["orderkey"][wanted]
    chosen = np.isin(items["orderkey"], keys) & (items["shipdate"] > day)
    return hash_keys(items["orderkey"][chosen])


def figure_6(setting: Setting) -> Finding:
    """Measure the throughput of TPC-H's Query 3: very many groups."""
    symbols = (*ONE_CHOICE, "SH-w", "PK-2", "PK-5")
    rows = windows(symbols, WORKERS, setting, lambda seed: [_query_3(setting, seed)])
    affine = [s for s in ONE_CHOICE if s != "FLD-1"]
    over_pk = best(rows, "throughput", affine, 32) / best(rows, "throughput", ["PK-2", "PK-5"], 32)
    over_fld = max(
        best(rows, "throughput", affine, w) / best(rows, "throughput", ["FLD-1"], w)
        for w in WORKERS
    )
    share = mean(rows, "aggregation", algorithm="PK-2", workers=32)
    claims = (
        judged(
            "With many groups AM and cAM have up to ten times the throughput of PK",
            "2.5x to 10x",
            f"{over_pk:.1f}x on 32 workers; aggregation takes {share:.0%} of PK-2's time",
            holds=over_pk >= 2.5,
        ),
        judged(
            "AM and cAM outperform hashing by up to 47 %",
            "up to 47 %",
            f"up to {over_fld - 1:.0%}",
            holds=over_fld >= 1.3,
            in_part=over_fld > 1.0,
            reason="orders have one to seven line items each: thousands of such keys per worker "
            "are level by themselves, and hashing leaves only chance to win back",
        ),
    )
    panels = (Panel("workers", "throughput", "algorithm", "TPC-H Query 3 (tuples per s)"),)
    return Finding(rows, panels, claims, "our own generator, scale factor 0.2")


def figure_7(setting: Setting) -> Finding:
    """Compare the imbalance of AM and cAM with that of hashing on TPC-H's Query 3."""
    rows = windows(ONE_CHOICE, WORKERS, setting, lambda seed: [_query_3(setting, seed)])
    base = {w: mean(rows, "imbalance", algorithm="FLD-1", workers=w) for w in WORKERS}
    for row in rows:
        row["over_fld"] = float(row["imbalance"]) / base[int(row["workers"])]
    at = {
        s: max(mean(rows, "over_fld", algorithm=s, workers=w) for w in WORKERS) for s in ONE_CHOICE
    }
    text = ", ".join(f"{s} {v:.2f}" for s, v in at.items() if s != "FLD-1")
    exact = max(at[s] for s in ("AM-2", "AM-5", "cAM-2", "cAM-5"))
    claims = (
        judged(
            "AM and cAM are more level than hashing",
            "below 1 of hashing's imbalance",
            text,
            holds=exact < 1.0,
        ),
        judged(
            "AM with HyperLogLog is more level than hashing, but less so than AM with exact sets",
            "AM-2 < AM-2-H < FLD",
            f"AM-2 {at['AM-2']:.2f}, AM-2-H {at['AM-2-H']:.2f} of hashing's imbalance",
            holds=at["AM-2"] < at["AM-2-H"] < 1.0,
            in_part=at["AM-2"] < at["AM-2-H"],
            reason="AM evens out numbers of keys; how even tuples are then is chance under either "
            "count of keys",
        ),
    )
    panels = (Panel("workers", "over_fld", "algorithm", "Imbalance over hashing's"),)
    return Finding(rows, panels, claims, "our own generator, scale factor 0.2")


def figure_8(setting: Setting) -> Finding:
    """Measure the window latency of DEBS Query 1: the most frequent routes."""

    def stream(seed: int) -> Sequence[Hashes]:
        trips = taxi_trips(setting, seed)
        keys = hash_keys(route(trips))
        return [keys[w] for w in sliding(trips["dropoff_time"], 1800.0, 60.0, 12)]

    symbols = (*ONE_CHOICE, *MANY_CHOICES)
    rows = windows(symbols, WORKERS, setting, stream)
    gains = [
        mean(rows, "seconds", algorithm=pk, workers=w)
        / max(mean(rows, "seconds", algorithm=s, workers=w) for s in ("AM-2", "cAM-2"))
        for w in WORKERS
        for pk in ("PK-2", "PK-5")
    ]
    shares = [mean(rows, "aggregation", algorithm="PK-2", workers=w) for w in WORKERS]
    hll = mean(rows, "seconds", algorithm="AM-2-H", workers=16) / mean(
        rows, "seconds", algorithm="AM-2", workers=16
    )
    claims = (
        judged(
            "AM and cAM have 4.5 to 11.6 times lower window latency than PK",
            "4.5x to 11.6x",
            f"{min(gains):.1f}x to {max(gains):.1f}x",
            holds=min(gains) >= 4.5,
            in_part=min(gains) >= 1.5,
            reason="with a unit per tuple and a unit per partial result; the paper's hash tables "
            "make a partial result dearer than a tuple",
        ),
        judged(
            "Aggregation is most of the time of partitioners with several choices",
            "70 %, 84 %, 88 % on 8, 16, 32 workers",
            "PK-2 " + ", ".join(f"{share:.0%}" for share in shares),
            holds=shares[0] >= 0.7 and shares[2] >= 0.85,
            in_part=shares[2] >= 0.7,
            reason="as above",
        ),
        judged(
            "AM with HyperLogLog is as fast as AM with exact sets",
            "identical",
            f"window latency {hll:.2f} times that of AM-2",
            holds=hll < 1.1,
            in_part=hll < 1.5,
            reason="the optimistic test of membership splits keys "
            f"({mean(rows, 'replication', algorithm='AM-2-H'):.4f} workers per key), and a window "
            "with split keys goes through the aggregator",
        ),
    )
    panels = (Panel("workers", "seconds", "algorithm", "Window latency (s)", logarithmic=True),)
    return Finding(rows, panels, claims, "drawn taxi trips, windows of 30 minutes")


def figure_9(setting: Setting) -> Finding:
    """Measure the window latency of DEBS Query 2: profitable areas, two stateful steps."""
    rows: list[Row] = []
    symbols = (*ONE_CHOICE, *MANY_CHOICES)
    for seed in setting.seed_numbers:
        trips = taxi_trips(setting, seed)
        taxis, cells = hash_keys(trips["medallion"]), hash_keys(trips["pickup"])
        slices = sliding(trips["dropoff_time"], 900.0, 60.0, 12)
        for workers in WORKERS:
            for symbol in symbols:
                chosen = router(symbol, workers, seed)
                for window in slices:
                    lanes = chosen.route(taxis[window])
                    chosen.advance()
                    placed = Placement.measured(taxis[window], lanes, workers)
                    areas = Placement.measured(cells[window], lanes, workers)
                    took = makespan(placed, MERGING)
                    # Workers know taxis; cells are on many workers whatever the partitioner.
                    second = (areas.aggregation_cost / workers + areas.keys / workers) * 1e-6
                    rows.append(
                        {
                            "algorithm": symbol,
                            "workers": workers,
                            "seed": seed,
                            "seconds": took.seconds + second,
                        }
                    )
    over_fld = [
        mean(rows, "seconds", algorithm="FLD-1", workers=w)
        / mean(rows, "seconds", algorithm=s, workers=w)
        for w in WORKERS
        for s in ("AM-2", "AM-5", "cAM-2", "cAM-5")
    ]
    tail = max(
        percentile(rows, 99, algorithm="FLD-1", workers=w)
        / percentile(rows, 99, algorithm="cAM-5", workers=w)
        for w in WORKERS
    )
    over_pk = max(
        mean(rows, "seconds", algorithm="PK-5", workers=w)
        / mean(rows, "seconds", algorithm="cAM-5", workers=w)
        for w in WORKERS
    )
    claims = (
        judged(
            "AM and cAM have 1.2 to 1.9 times lower latency than hashing",
            "1.2x to 1.5x mean, 1.3x to 1.9x at the 99th percentile",
            f"{min(over_fld):.2f}x to {max(over_fld):.2f}x, {tail:.2f}x at the 99th percentile",
            holds=min(over_fld) >= 1.1 and tail >= 1.3,
            in_part=min(over_fld) >= 1.0,
            reason="taxis drive about equally often, so that hashing is off by chance only, and "
            "the second step costs all alike",
        ),
        judged(
            "AM and cAM have up to 5.7 times lower latency than PK",
            "up to 5.7x",
            f"up to {over_pk:.1f}x",
            holds=over_pk >= 3.0,
            in_part=over_pk >= 1.2,
            reason="a taxi has a few trips per window: two candidates split it less than the "
            "paper's data do",
        ),
    )
    panels = (Panel("workers", "seconds", "algorithm", "Window latency (s)", logarithmic=True),)
    return Finding(rows, panels, claims, "drawn taxi trips, windows of 15 minutes")
