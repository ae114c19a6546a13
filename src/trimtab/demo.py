"""The demo: the routers side by side on a skewed, drifting click stream. `make demo` runs it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from trimtab import hash_keys, router
from trimtab.report import Batch, Run, Table, pictures
from trimtab.report.html import Section, write_page
from trimtab.report.table import Column
from trimtab.workloads.clicks import Clicks

LANES = 16
BATCHES = 16
ROWS = 100_000
SEED = 7
ROUTERS = {
    "hash": "Spark's hash",
    "shuffle": "round robin",
    "pkg": "PKG, 2 choices",
    "cam": "cAM",
    "cg": "Consistent Grouping",
    "trim": "Trimtab",
}


@dataclass(frozen=True)
class Stream:
    """The batches as key hashes, and the names of the keys that get hot."""

    hashes: list[NDArray[np.uint64]]
    labels: dict[int, str]

    @classmethod
    def of(cls, clicks: Clicks) -> Stream:
        """Draw the clicks and hash their pages as Spark does."""
        names = clicks.names(np.arange(clicks.pages))
        known = hash_keys(names)
        batches = [known[pages] for pages in clicks.batches(BATCHES, ROWS)]
        return cls(batches, dict(zip(known.tolist(), names.tolist(), strict=True)))


def run_router(name: str, stream: Stream, progress: Progress) -> Run:
    """Send the stream through one router, a window per batch."""
    made = router(name, lanes=LANES, seed=SEED)
    batches = []
    for number in progress.track(range(len(stream.hashes)), description=f"{ROUTERS[name]:<20}"):
        hashes = stream.hashes[number]
        start = time.perf_counter()
        placed = made.route(hashes)
        seconds = time.perf_counter() - start
        made.advance()
        measured = Batch.of_lanes(
            number, hashes, placed, LANES, splits_keys=True, labels=stream.labels
        )
        batches.append(replace(measured, seconds=seconds))
    return Run(ROUTERS[name], batches)


def comparison(runs: list[Run]) -> Table:
    """Put the runs side by side; the first batch, which compiles kernels, is not timed."""
    columns = (
        Column("name", "router"),
        Column("max_over_mean", "max/mean", ".2f"),
        Column("over_bound", "heaviest lane / bound", ".2f"),
        Column("replication", "lanes per key", ".3f"),
        Column("rows_per_second", "million rows/s", ".0f"),
    )
    rows = []
    for run in runs:
        timed = [batch.seconds or 0.0 for batch in run.batches[1:]]
        speed = ROWS * len(timed) / sum(timed) / 1e6
        rows.append((run.name, run.max_over_mean, run.over_bound, run.replication, speed))
    title = f"{BATCHES} batches of {ROWS:,} clicks on {LANES} lanes"
    return Table(title, columns, rows)


def main() -> None:
    """Run the demo and write report.html to the working directory."""
    console = Console()
    console.print(
        f"A click stream on {Clicks().pages:,} pages; its hottest page takes "
        f"{Clicks().shares(0).max():.0%} of the clicks, and every few batches another page is hot."
    )
    stream = Stream.of(Clicks(seed=SEED))
    with Progress(console=console) as progress:
        runs = [run_router(name, stream, progress) for name in ROUTERS]
    table = comparison(runs)
    console.print(table.to_rich())
    pair = [runs[0], runs[-1]]
    path = write_page(
        "report.html",
        "Trimtab: a skewed click stream, before and after",
        f"The same {BATCHES * ROWS:,} clicks routed to {LANES} lanes by {len(runs)} partitioners. "
        "A batch waits for its heaviest lane, so what counts is how far that lane is from the "
        "lower bound.",
        [
            Section("All routers", tables=[table]),
            Section("Lanes before and after", pictures=[pictures.lanes(pair)]),
            Section("Load over time", pictures=[pictures.heat(pair)]),
            Section("The hottest keys", pictures=[pictures.hot_keys(pair[1])]),
            Section("Distance from the lower bound", pictures=[pictures.decisions(pair)]),
        ],
    )
    console.print(f"Report with pictures: {Path(path)}")


if __name__ == "__main__":
    main()
