"""Streams whose work waits: keys that change, and the highest rate that is kept up with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from rich.table import Table

from spark_runs import Results
from stream_inputs import (
    LANES,
    SEED,
    our_batches,
    plain_batches,
    write_batches,
    written,
    zipf_batches,
)
from stream_pictures import draw_drift, draw_rates
from trimtab.journal.event_log import EventLog
from trimtab.metrics import max_over_mean
from trimtab.workloads import zipf_ids

PARTITIONERS = ("hash", "kip", "prompt", "dalton", "trim")
WHOLE = ("hash", "kip")
"""Partitioners that keep keys whole: no lane can have less than the heaviest key."""
SURPRISED = ("trim", "kip", "readj", "mixed", "pkg", "dalton")
"""Partitioners that are tried on keys that change in every batch, beside hash and prompt."""
INTERVAL = 4.0
"""Seconds between batches, where a rate is looked for."""
LEVEL = 1.15
"""A batch is level if its fullest lane is at most this much above the lowest possible."""


def waiting(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        time.sleep(0.001 * len(frame))
        yield frame.iloc[:1]


def waited(rows: DataFrame, _: Any) -> None:
    written(rows.mapInPandas(waiting, rows.schema), _)


def lowest(keys: NDArray[Any], partitioner: str) -> float:
    """Return the lowest possible max/mean of a batch."""
    heaviest = float(np.bincount(keys).max()) if partitioner in WHOLE else 0.0
    return max(1.0, heaviest * LANES / keys.size)


def drift(spark: SparkSession, rows: int, count: int, results: Results, scratch: Path) -> None:
    """The hot keys change every ten batches; the keys' numbers move on, the shares stay."""
    change = 10 if count > 20 else 4
    drawn = zipf_batches([rows] * (count + 1), 5_000, 1.0)
    # The first batch starts the workers and does not count.
    batches = [
        (ids + 1_700 * (max(0, batch - 1) // change)) % 5_000 for batch, ids in enumerate(drawn)
    ]
    source = scratch / "words"
    write_batches(source, iter(batches), 10)
    lines: dict[str, list[float]] = {}
    table = Table(
        title=f"1 ms per row, {rows:,} rows per batch, hot keys change every {change}",
        caption="batches that a change leaves out of level, mean and worst; aim: two",
    )
    for column in ("partitioner", "max/mean, median", "worst", "s per batch", "mean", "worst"):
        table.add_column(column, justify="left" if column == "partitioner" else "right")
    for name in PARTITIONERS:
        root = scratch / name
        seconds = our_batches(spark, source, root, waited, name)[1:]
        events = list(EventLog(root).events())[1:]
        levels = [max_over_mean(np.array(event["loads"])) for event in events]
        ratios = [
            level / lowest(keys, name) for level, keys in zip(levels, batches[1:], strict=True)
        ]
        late = [
            next((i for i, r in enumerate(ratios[b : b + change]) if r <= LEVEL), change)
            for b in range(change, count, change)
        ]
        lines[name] = seconds
        results.console.print(f"  {name}: " + " ".join(f"{level:.2f}" for level in levels))
        table.add_row(
            name,
            f"{np.median(levels):.2f}",
            f"{max(levels):.2f}",
            f"{np.median(seconds):.2f}",
            f"{np.mean(late):.1f}",
            f"{max(late)}",
        )
        for what, value in (
            ("max/mean, median", float(np.median(levels))),
            ("seconds per batch, median", float(np.median(seconds))),
            ("batches until level, mean", float(np.mean(late))),
            ("batches until level, worst", float(max(late))),
        ):
            row = {"part": "drift", "what": f"{name}: {what}", "unit": "", "value": value}
            results.rows.append({**row, "ratio": ""})
    results.console.print(table)
    results.pictures["drift"] = partial(draw_drift, lines, rows, LANES, change)


def surprising(batches: int, rows: int) -> list[NDArray[Any]]:
    """Return batches whose hot keys are others every time, the hottest with 2 % to 48 %."""
    rng = np.random.default_rng(SEED)
    shares = np.geomspace(0.02, 0.48, batches)
    rng.shuffle(shares)
    made = []
    for batch, top in enumerate(shares):
        first = 10_000 * batch
        tail = first + 1 + zipf_ids(rows, 3_000, 0.8, SEED + batch)
        made.append(np.where(rng.random(rows) < top, first, tail))
    return made


def surprise(spark: SparkSession, rows: int, results: Results, scratch: Path) -> None:
    """The hot keys change in every batch: history names none of them.

    Then the same with keys that stay: a look is of no use there, and must not cost much.
    """
    count = 12
    changing = surprising(count + 1, rows)
    staying = list(zipf_batches([rows] * (count + 1), 5_000, 1.0))
    for what, batches, runs in (
        (
            "hot keys that change every batch",
            changing,
            [(name, "auto") for name in ("hash", "prompt", *SURPRISED)] + [("trim", "never")],
        ),
        ("keys that stay", staying, [("trim", "never"), ("trim", "auto")] * 2),
    ):
        source = scratch / what
        write_batches(source, iter(batches), 10)
        table = Table(title=f"{what}: 1 ms per row, {rows:,} rows per batch")
        for column in ("partitioner", "look", "max/mean, median", "worst", "s in all", "looks"):
            table.add_column(column, justify="right")
        took: dict[str, list[float]] = {}
        for turn, (name, look) in enumerate([("Spark's hash", ""), *runs]):
            root = scratch / f"{what} {turn} {name} {look}"
            label = f"{name} {look}".strip()
            if not look:
                # The first batch starts the workers and does not count.
                took[label] = [sum(plain_batches(spark, source, root, waited)[1:])]
                table.add_row(name, "", "", "", f"{took[label][0]:.1f}", "")
                continue
            seconds = our_batches(spark, source, root, waited, name, look=look)[1:]
            events = list(EventLog(root).events())[1:]
            levels = [max_over_mean(np.array(event["loads"])) for event in events]
            looks = sum(event["look"]["how"] != "none" for event in events)
            took.setdefault(label, []).append(sum(seconds))
            shown = (f"{np.median(levels):.2f}", f"{max(levels):.2f}", f"{sum(seconds):.1f}")
            table.add_row(name, look, *shown, str(looks))
            results.console.print(f"  {label}: " + " ".join(f"{level:.2f}" for level in levels))
        results.console.print(table)
        against = "prompt auto" if what == "hot keys that change every batch" else "trim never"
        results.add(
            f"{what}, {count} batches of {rows:,} rows, 1 ms per row",
            {label: float(np.mean(values)) for label, values in took.items()},
            against,
            "aim: at most 1.05 of prompt where keys change, 1.03 of no looks where they stay",
        )


def left_behind(took: list[float]) -> float:
    """Return the delay that batches leave behind which come every `INTERVAL` seconds."""
    delay = 0.0
    for seconds in took:
        delay = max(0.0, delay + seconds - INTERVAL)
    return delay


def highest(
    spark: SparkSession, scratch: Path, name: str, steps: list[int], wave: NDArray[Any]
) -> float:
    """Return the highest rate, in rows per second, that a partitioner keeps up with.

    One query goes through waves of batches, each higher than the one before, until it is behind.
    """
    source, kept_up, first = scratch / "words", 0, 0
    for rows in steps:
        # The first batch of all starts the workers and does not count.
        counts = [*([steps[0]] if not first else []), *(int(rows * height) for height in wave)]
        write_batches(source, zipf_batches(counts, 5_000, 1.2), INTERVAL, first)
        first += len(counts)
        took = our_batches(spark, source, scratch / "ck", waited, name)[-wave.size :]
        if left_behind(took) > 0:
            break
        kept_up = rows
    return kept_up / INTERVAL


def rate(spark: SparkSession, count: int, results: Results, scratch: Path) -> None:
    """Prompt's Figure 11 in small."""
    top = int(INTERVAL * 1000 * LANES)
    steps = [int(top * step / count) for step in range(1, count)]
    waves = {"constant": np.ones(4), "sinusoidal": 1 + 0.5 * np.sin(np.arange(6) * np.pi / 3)}
    found: dict[str, dict[str, float]] = {}
    for shape, wave in waves.items():
        found[shape] = {}
        for name in PARTITIONERS:
            place = scratch / f"{shape} {name}"
            found[shape][name] = highest(spark, place, name, steps, wave)
            results.console.print(f"  {shape}, {name}: {found[shape][name]:,.0f} rows/s")
        results.add(
            f"highest {shape} rate within an interval of {INTERVAL:.0f} s, 1 ms per row, Zipf 1.2",
            found[shape],
            "hash",
            f"16 slots can do {top / INTERVAL:,.0f} rows/s at the very most; steps of "
            f"{top / INTERVAL / count:,.0f}",
            unit="rows/s",
        )
    results.pictures["rate"] = partial(draw_rates, found, top / INTERVAL, INTERVAL)
