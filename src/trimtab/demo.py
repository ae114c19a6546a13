"""The demo: one streaming job on a skewed, drifting click stream, before and after.

`make demo` runs it. Both runs do the same work on the same slots of one embedded Spark; they take
turns, so that neither always has the warmer machine. A second act counts the clicks in sliding
windows, by Spark's own `window()` and by Trimtab.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from trimtab.errors import TrimtabError
from trimtab.report import Run, tables
from trimtab.report.log import read_run
from trimtab.report.pages import write_comparison
from trimtab.report.terminal import newest_batch
from trimtab.workloads.clicks import Clicks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONERS = {"hash": "Plain hash", "trim": "Trimtab"}


@dataclass(frozen=True)
class Job:
    """What is run: sizes are such that the demo takes about two minutes on two cores.

    Attributes
    ----------
    slots
        Task slots of the embedded Spark, and lanes. The work waits, so that a core serves many.
    batches, rows
        Micro-batches that count, and clicks in each.
    wait
        Seconds that the function waits per click.
    warm_up
        Clicks of the first batch, which starts the workers and does not count.
    windows, window_rows
        Micro-batches of ten seconds in the second act, and clicks in each.
    """

    slots: int = 16
    batches: int = 6
    rows: int = 40_000
    wait: float = 0.001
    warm_up: int = 1_600
    windows: int = 5
    window_rows: int = 10_000
    clicks: Clicks = field(default_factory=lambda: Clicks(pages=5_000, drift_every=4, seed=7))

    @property
    def floor(self) -> float:
        """Seconds that the work of a batch takes when it is level on all slots."""
        return self.rows / self.slots * self.wait

    def rounds(self) -> list[tuple[range, tuple[str, ...]]]:
        """Return which batches run when, and in which order: each has its turn at being first."""
        half = self.batches // 2
        first, second = PARTITIONERS
        return [
            (range(1), (first, second)),
            (range(1, half + 1), (first, second)),
            (range(half + 1, self.batches + 1), (second, first)),
        ]


def write_clicks(job: Job, batches: range, folder: Path) -> None:
    """Add files to the folder that the stream reads: one file is one micro-batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    for batch in batches:
        pages = job.clicks.batch(batch, job.rows if batch else job.warm_up)
        # A click is more than its page: rows of a hot page are told apart by their visit.
        visits = np.arange(pages.size) + batch * job.rows
        table = pa.table({"page": job.clicks.names(pages).tolist(), "visit": visits})
        hidden = folder / f".{batch:04d}.parquet"
        pq.write_table(table, hidden)
        # Spark takes files by age; a second between them keeps the batches in order.
        os.utime(hidden, (1_700_000_000 + batch, 1_700_000_000 + batch))
        hidden.rename(folder / f"{batch:04d}.parquet")


def counter(wait: float) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the expensive function: it counts clicks by page, and waits for each of them."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            # A stand-in for a look-up, a model or a service that takes this long per click.
            time.sleep(wait * batch.num_rows)
            clicks = pa.table([batch.column(0)], names=["page"]).group_by("page")
            counted = clicks.aggregate([([], "count_all")]).rename_columns({"count_all": "clicks"})
            yield from counted.select(["page", "clicks"]).to_batches()

    return count


@dataclass
class Side:
    """One of the two runs: its checkpoint and what it has counted."""

    name: str
    job: Job
    place: Path
    totals: dict[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What people call it."""
        return PARTITIONERS[self.name]

    def start(self, spark: SparkSession, source: Path) -> Any:
        """Start the query on all files that are there; it ends by itself."""
        from pyspark.sql import functions as F

        import trimtab.spark as tt

        count = counter(self.job.wait)

        def work(rows: DataFrame, batch: Any) -> None:
            partial = rows.mapInArrow(count, "page string, clicks long")
            merged = partial.groupBy("page").agg(F.sum("clicks").alias("clicks"))
            for page, n in merged.collect():
                self.totals[page] = self.totals.get(page, 0) + n

        clicks = spark.readStream.schema("page string, visit long").option("maxFilesPerTrigger", 1)
        return (
            tt.stream(
                clicks.parquet(str(source)),
                key="page",
                lanes=self.job.slots,
                partitioner=self.name,
                checkpoint=str(self.place),
            )
            .for_each_batch(work)
            .start(trigger={"availableNow": True})
        )

    def so_far(self, count_warm_up: bool = False) -> Run | None:
        """Return the batches that are done, or None before the first."""
        try:
            run = read_run(self.place, self.title)
        except TrimtabError:
            return None
        counted = [batch for batch in run.batches if batch.batch > 0 or count_warm_up]
        return Run(run.name, counted) if counted else None


WINDOW, SLIDE, DELAY = "60 seconds", "1 second", "0 seconds"
"""The sliding windows of the second act."""


def write_timed_clicks(job: Job, folder: Path) -> None:
    """Write the clicks of the second act: a file is ten seconds of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    for batch in range(job.windows):
        pages = job.clicks.batch(batch, job.window_rows)
        seconds = 1_700_000_000 + 10 * (batch + np.arange(pages.size) / pages.size)
        times = pa.array((seconds * 1e6).astype(np.int64), pa.timestamp("us", "UTC"))
        path = folder / f"{batch:04d}.parquet"
        pq.write_table(pa.table({"page": job.clicks.names(pages).tolist(), "ts": times}), path)
        os.utime(path, (1_700_000_000 + batch, 1_700_000_000 + batch))


def count_in_windows(spark: SparkSession, source: Path, place: Path, ours: bool) -> float:
    """Count clicks in sliding windows, as Spark does or as Trimtab does; return the seconds."""
    from pyspark.sql import functions as F

    import trimtab.spark as tt

    reader = spark.readStream.schema("page string, ts timestamp").option("maxFilesPerTrigger", 1)
    clicks = reader.parquet(str(source))
    began = time.monotonic()
    if ours:
        stream = tt.stream(clicks, "page", 4, checkpoint=str(place / "checkpoint"))
        counted = stream.aggregate(
            time="ts", window=WINDOW, slide=SLIDE, watermark=DELAY, clicks=F.count("*")
        )
        query = counted.start(str(place / "out"), trigger={"availableNow": True})
    else:
        windows = F.window("ts", WINDOW, SLIDE)
        rows = clicks.withWatermark("ts", DELAY).groupBy(windows, "page")
        writer = rows.agg(F.count("*").alias("clicks")).writeStream.outputMode("append")
        writer = writer.option("checkpointLocation", str(place / "checkpoint"))
        query = writer.trigger(availableNow=True).format("parquet").start(str(place / "out"))
    query.awaitTermination()
    return time.monotonic() - began


def second_act(job: Job, spark: SparkSession, place: Path, out: Console) -> None:
    """Count clicks in sliding windows both ways, and say how long each took."""
    out.print(
        f"\nSecond act: clicks per page in windows of {WINDOW} by {SLIDE}, {job.windows} "
        f"micro-batches of {job.window_rows:,} clicks.",
        highlight=False,
    )
    write_timed_clicks(job, place / "timed")
    took, found = {}, {}
    for name, ours in (("Spark's window()", False), ("Trimtab", True)):
        took[name] = count_in_windows(spark, place / "timed", place / f"windows-{ours}", ours)
        results = spark.read.parquet(str(place / f"windows-{ours}" / "out"))
        sums = results.selectExpr(
            "count(1)", "sum(clicks)", "sum(clicks * (xxhash64(page) % 1000))"
        )
        found[name] = tuple(sums.first() or ())
    before, after = took.values()
    same = len(set(found.values())) == 1
    out.print(
        f"Trimtab took {after:.1f} s where Spark's own window() took {before:.1f} s: "
        f"{before / after:.1f} times as fast. Its {found['Trimtab'][0]:,} results are "
        f"{'the same' if same else 'NOT the same'}.",
        highlight=False,
    )
    if not same:
        raise TrimtabError(
            "the two counted windows differently, which must not be; please report it"
        )


def show(sides: list[Side], what: str, console: Console) -> Any:
    """Draw both runs side by side, on one scale."""
    runs = [run for side in sides if (run := side.so_far(count_warm_up=True)) is not None]
    highest = max((float(run.batches[-1].loads.max()) for run in runs), default=None)
    views = [newest_batch(run, highest=highest, rows=console.height) for run in runs]
    return Group(Text(what, style="bold"), Columns(views))


def run_rounds(job: Job, sides: list[Side], spark: SparkSession, place: Path, out: Console) -> None:
    """Run all rounds, showing what happens."""
    with Live(console=out, refresh_per_second=4, transient=True) as live:
        for number, (batches, order) in enumerate(job.rounds()):
            write_clicks(job, batches, place / "clicks")
            for name in order:
                side = next(side for side in sides if side.name == name)
                query = side.start(spark, place / "clicks")
                what = "warming up" if number == 0 else f"round {number} of 2"
                while True:
                    live.update(show(sides, f"{what}: {side.title} is running", out))
                    if query.awaitTermination(0.4):
                        break
                if query.exception() is not None:
                    raise query.exception()
                if not out.is_terminal:
                    _tell(side, batches, out)


def _tell(side: Side, batches: range, out: Console) -> None:
    """Say in words what a terminal would have shown."""
    run = side.so_far(count_warm_up=True)
    for batch in run.batches if run is not None else []:
        if batch.batch in batches:
            hottest = batch.hottest[0][0] if batch.hottest else "-"
            out.print(
                f"{side.title:<10}  batch {batch.batch}  {batch.seconds or 0:5.1f} s  "
                f"max/mean {batch.max_over_mean:.2f}  hottest {hottest}",
                markup=False,
            )


def run_demo(job: Job, report: Path, out: Console) -> list[Run]:
    """Run the job both ways, print the comparison and write the report."""
    from trimtab.spark.local_session import local_session

    began = time.monotonic()
    shares = np.sort(job.clicks.shares(1))[::-1]
    out.print(
        f"{job.batches} micro-batches of {job.rows:,} clicks on {job.clicks.pages:,} pages, "
        f"counted by page on {job.slots} task slots. The hottest page takes {shares[0]:.0%} of the "
        f"clicks, and after batch {job.clicks.drift_every - 1} other pages are hot.\n"
        f"The function that counts waits {job.wait * 1000:g} ms per click, as a look-up would. "
        "Both runs do the same work on the same slots, in turns.\nStarting Spark ...",
        highlight=False,
    )
    with tempfile.TemporaryDirectory(prefix="trimtab-demo-") as scratch:
        place = Path(scratch)
        sides = [Side(name, job, place / f"checkpoint-{name}") for name in PARTITIONERS]
        with local_session(
            place,
            f"local[{job.slots}]",
            # A session of two minutes on few cores: the compiler had better be quick than good.
            java_options="-XX:TieredStopAtLevel=1",
            spark__sql__shuffle__partitions=2,  # of the merge, which is small
            spark__driver__memory="1g",
        ) as spark:
            run_rounds(job, sides, spark, place, out)
            second_act(job, spark, place, out)
        runs = [run for side in sides if (run := side.so_far()) is not None]
    floors = [job.floor] * job.batches
    out.print(tables.summary(runs, floors).to_rich())
    before, after = (run.seconds or 0.0 for run in runs)
    same = sides[0].totals == sides[1].totals
    verdict = (
        f"Trimtab took {after:.0f} s where plain hashing took {before:.0f} s: "
        f"{before / after:.1f} times as fast. The counts of all {len(sides[0].totals):,} pages are "
        f"{'the same' if same else 'NOT the same'}."
    )
    out.print(verdict, highlight=False)
    path = write_comparison(
        report,
        "Trimtab: one streaming job, before and after",
        verdict,
        runs,
        floors=floors,
        paragraphs=_honest(job),
    )
    out.print(f"Report with pictures: {path}", highlight=False, soft_wrap=True)
    out.print(f"It took {time.monotonic() - began:.0f} s in all.", highlight=False)
    if not same:
        raise TrimtabError("the two runs counted differently, which must not be; please report it")
    return runs


def _honest(job: Job) -> list[str]:
    return [
        f"Both runs read the same {job.batches} files of {job.rows:,} clicks in an embedded Spark "
        f"with {job.slots} task slots, in turns: plain hashing goes first in the first half, "
        "Trimtab in the second. One small batch before them, which does not count, started the "
        "workers and showed Trimtab the keys once.",
        f"The work waits {job.wait * 1000:g} ms per click instead of computing, so that "
        f"{job.slots} slots are busy at once whatever the number of cores. Level on all slots a "
        f"batch takes {job.floor:.2f} s; the rest of its time is Spark's own, or waiting for the "
        "heaviest lane.",
        "Plain hashing sends a key to hash(key) mod lanes, as Spark's own shuffle does. Trimtab "
        "takes a quick look at the keys of a batch before it moves the rows, so that the batch in "
        "which other keys become hot comes as no surprise. A hot key is counted on several lanes, "
        "and the parts are added up.",
    ]


def main() -> None:
    """Run the demo and write report.html to the working directory."""
    out = Console()
    try:
        run_demo(Job(), Path("report.html"), out)
    except TrimtabError as error:
        out.print(f"trimtab: {error}", style="bold", markup=False)
        sys.exit(2)


if __name__ == "__main__":
    main()
