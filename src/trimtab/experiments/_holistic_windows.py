"""What the Holistic experiments share: algorithms by their symbols, and windows that are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from trimtab import router as make_router
from trimtab.control.cost_model import Operator, Placement, makespan
from trimtab.experiments.base import Cell, Row, Setting, mean
from trimtab.metrics import imbalance
from trimtab.routers import Router
from trimtab.workloads.taxi import Columns, TaxiTrips

WORKERS = (8, 16, 32)
ONE_CHOICE = ("FLD-1", "AM-2", "AM-5", "cAM-2", "cAM-5", "AM-2-H")
MANY_CHOICES = ("SH-w", "PK-2", "PK-5", "CM-2", "LM-2")
MERGING = Operator(
    split_keys=True, row_seconds=1e-6, ship_seconds=0.0, merge_seconds=1e-6, mergers=1
)
_NAMES = {"SH": "shuffle", "FLD": "hash", "PK": "pkg", "CM": "cm", "AM": "am", "cAM": "cam"}
_NAMES["LM"] = "lm"

Hashes = NDArray[np.uint64]


def router(symbol: str, workers: int, seed: int) -> Router:
    """Make the router that a symbol of the paper's Table 2 stands for."""
    name, *rest = symbol.split("-")
    if name in ("SH", "FLD"):
        return make_router(_NAMES[name], lanes=workers)
    parameters: dict[str, object] = {"choices": int(rest[0])}
    if rest[1:] == ["H"]:
        parameters["cardinality"] = "hll"
    return make_router(_NAMES[name], lanes=workers, seed=seed, **parameters)


def windows(
    symbols: Sequence[str],
    workers: Iterable[int],
    setting: Setting,
    stream: Callable[[int], Sequence[Hashes]],
) -> list[Row]:
    """Route the windows of every seed's stream by every algorithm."""
    rows: list[Row] = []
    for seed in setting.seed_numbers:
        windows = stream(seed)
        for count in workers:
            for symbol in symbols:
                chosen = router(symbol, count, seed)
                for number, keys in enumerate(windows):
                    lanes = chosen.route(keys)
                    chosen.advance()
                    placed = Placement.measured(keys, lanes, count)
                    took = makespan(placed, MERGING)
                    rows.append(
                        {
                            "algorithm": symbol,
                            "workers": count,
                            "seed": seed,
                            "window": number,
                            "seconds": took.seconds,
                            "throughput": keys.size / took.seconds,
                            "aggregation": took.merge / took.seconds,
                            "imbalance": imbalance(placed.loads),
                            "replication": placed.replication,
                        }
                    )
    return rows


def percentile(rows: Sequence[Row], percent: float, **where: Cell) -> float:
    found = [float(r["seconds"]) for r in rows if all(r[k] == v for k, v in where.items())]
    return float(np.percentile(found, percent))


def best(rows: Sequence[Row], value: str, symbols: Sequence[str], workers: int) -> float:
    return max(mean(rows, value, algorithm=s, workers=workers) for s in symbols)


def sliding(columns: NDArray[np.float64], length: float, slide: float, most: int) -> list[slice]:
    """Return the tuples of up to `most` sliding windows over rising times."""
    ends = np.arange(columns[0] + length, columns[-1], slide)
    if ends.size > most:
        ends = ends[np.linspace(0, ends.size - 1, most).astype(int)]
    first = np.searchsorted(columns, ends - length)
    last = np.searchsorted(columns, ends)
    return [slice(a, b) for a, b in zip(first, last, strict=True) if b > a]


def taxi_trips(setting: Setting, seed: int) -> Columns:
    """Draw the taxi trips of a seed."""
    return TaxiTrips().trips(setting.size(120_000, 20_000), seed)
