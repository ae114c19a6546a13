"""What a receiver does on one core: records per second beside pyarrow's reader, and planning.

    .venv/bin/python benchmarks/receiver.py [--records 1000000] [--repeats 3] [--seed 1]

Every figure of a table comes from one run: what is compared is measured in turn, several times, and
the median of each is shown.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json
from rich.console import Console
from rich.table import Table

from machine import heading
from trimtab import Histogram, hash_keys
from trimtab.partitioners import resolve
from trimtab.receive import Log, Receiver, Running
from trimtab.receive import buffer as buffers
from trimtab.receive.arrivals import Chunk
from trimtab.receive.drawn_records import DrawnRecords, drawn_keys
from trimtab.receive.records import Lines
from trimtab.receive.sources.tcp import TcpSource
from trimtab.sketches.count_tree import CountTree
from trimtab.sketches.exact import ExactCounts

SCHEMA = "k long, x long, p string"
CHUNK = 10_000
CORES = os.sched_getaffinity(0)
GROUP = 4
"""Chunks that share a wait for the disk: what one busy connection sends meanwhile."""
BLOCKS = 16
RATE = 100_000
BATCH = 500_000
"""About what the receiver can take in a second."""


class NoCounts(ExactCounts):
    """Counts nothing, to find out what counting costs."""

    def update(self, hashes: Any, weights: Any = None) -> None:
        pass


def chunks_of(records: int, z: float, seed: int) -> list[Chunk]:
    keys = drawn_keys("zipf", records, 100_000, z, seed)
    made = DrawnRecords(keys, size=100)
    return [Chunk("json", made.lines(at, CHUNK), CHUNK) for at in range(0, records, CHUNK)]


@contextmanager
def fresh_receiver(**settings: Any) -> Iterator[Receiver]:
    with tempfile.TemporaryDirectory() as place:
        log = Log.create(place, schema=SCHEMA, key="k", blocks=BLOCKS, **settings)
        with Receiver(log) as receiver:
            yield receiver


def timed(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def read_alone(chunks: list[Chunk], schema: pa.Schema) -> None:
    options = pyarrow.json.ParseOptions(explicit_schema=schema)
    for chunk in chunks:
        read = pyarrow.json.ReadOptions(use_threads=False, block_size=len(chunk.data) + 1)
        pyarrow.json.read_json(pa.BufferReader(chunk.data), read, options)


def received(chunks: list[Chunk], *, counting: bool = True, batches: int = 0) -> None:
    """Take all chunks into batches; with no batches, into one that is not released."""
    real = buffers.ExactCounts
    buffers.ExactCounts = real if counting else NoCounts
    try:
        with fresh_receiver() as receiver:
            each = len(chunks) // batches if batches else len(chunks)
            for start in range(0, len(chunks), each):
                batch = chunks[start : start + each]
                for at in range(0, len(batch), GROUP):
                    receiver.take(batch[at : at + GROUP])
                if batches:
                    receiver.flush()
    finally:
        buffers.ExactCounts = real


SENDER = """
import os, socket, sys
os.sched_setaffinity(0, {int(sys.argv[3])})
data = open(sys.argv[1], "rb").read()
with socket.create_connection(("127.0.0.1", int(sys.argv[2]))) as connection:
    print("ready", flush=True)
    sys.stdin.readline()
    connection.sendall(data)
"""


def over_tcp(chunks: list[Chunk]) -> float:
    """Return the seconds from the first byte that another process sends until all are on disk."""
    records = sum(chunk.records for chunk in chunks)
    other = min(CORES - os.sched_getaffinity(0), default=0)
    with fresh_receiver() as receiver, tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(chunk.data for chunk in chunks))
        file.flush()
        source = TcpSource(Running(receiver))
        source.start()
        command = [sys.executable, "-c", SENDER, file.name, str(source.address[1]), str(other)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as sender:
            assert sender.stdin is not None
            assert sender.stdout is not None
            sender.stdout.readline()
            begun = time.perf_counter()
            sender.stdin.write("go\n")
            sender.stdin.flush()
            while receiver.received < records:
                time.sleep(0.002)
            seconds = time.perf_counter() - begun
        source.stop()
    return seconds


def throughput(chunks: list[Chunk], repeats: int) -> Table:
    schema = Log(Path(), SCHEMA, ("k",), 1, 1.0, "prompt").arrow_schema
    lines = Lines(schema, "json")
    records, size = sum(c.records for c in chunks), sum(len(c.data) for c in chunks)
    batches = max(1, records // BATCH)
    works = {
        "pyarrow's JSON reader alone": lambda: read_alone(chunks, schema),
        "lines parsed, bad ones looked for": lambda: [lines.parse(c.data) for c in chunks],
        "taken: parsed, on disk, buffered, not counted": lambda: received(chunks, counting=False),
        "taken: parsed, on disk, buffered, counted": lambda: received(chunks),
        f"taken and released, {records // batches:,} records a batch": lambda: received(
            chunks, batches=batches
        ),
    }
    seconds = measured(works, repeats)
    seconds["taken over TCP, from another process on the other core"] = median(
        over_tcp(chunks) for _ in range(repeats)
    )
    alone = seconds["pyarrow's JSON reader alone"]
    table = Table(
        "one core", "records/s", "MB/s", "of pyarrow alone", title=f"{size / records:.0f} bytes"
    )
    for name, taken in seconds.items():
        share = f"{alone / taken:.2f}"
        table.add_row(name, f"{records / taken:,.0f}", f"{size / taken / 1e6:.0f}", share)
    without = seconds["taken: parsed, on disk, buffered, not counted"]
    counted = seconds["taken: parsed, on disk, buffered, counted"]
    table.caption = f"counting makes taking {counted / without - 1:+.1%} slower"
    return table


def measured(works: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Run all works in turn, so often; the first turn is not counted."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeats + 1):
        for name, work in works.items():
            seconds = timed(work)
            if turn:
                times[name].append(seconds)
    return {name: median(each) for name, each in times.items()}


def counting(chunks: list[Chunk], repeats: int) -> Table:
    """Compare ways to count: what each takes as records come, and what is left for the end."""
    lines = Lines(Log(Path(), SCHEMA, ("k",), 1, 1.0, "prompt").arrow_schema, "json")
    hashes = [hash_keys(lines.parse(chunk.data).table["k"]) for chunk in chunks]
    records = sum(each.size for each in hashes)
    together = np.concatenate(hashes)

    def by_tree() -> tuple[float, float]:
        tree = CountTree(expected_tuples=records, expected_keys=100_000)
        coming = timed(lambda: [tree.update(each) for each in hashes])
        return coming, timed(lambda: Histogram.from_counts(tree.heartbeat()))

    def by_table() -> tuple[float, float]:
        counts = ExactCounts()
        coming = timed(lambda: [counts.update(each) for each in hashes])
        return coming, timed(lambda: Histogram.from_counts(counts.items()))

    def at_the_end() -> tuple[float, float]:
        return 0.0, timed(lambda: Histogram.from_hashes(together))

    table = Table(
        "counts of one batch",
        "ns per record as they come",
        "ms when the batch ends",
        title="counts",
    )
    ways = {
        "CountTree, budget 8 (Algorithm 1)": by_tree,
        "exact table": by_table,
        "post-sort": at_the_end,
    }
    for name, way in ways.items():
        runs = [way() for _ in range(repeats + 1)][1:]
        coming, ending = (median(run[at] for run in runs) for at in (0, 1))
        table.add_row(name, f"{coming / records * 1e9:.1f}", f"{ending * 1e3:.1f}")
    table.caption = f"{records:,} records, {np.unique(together).size:,} keys"
    return table


def planning(z: float, seed: int, repeats: int) -> Table:
    """Measure what stands between the end of a batch and its release, at Prompt's intervals."""
    table = Table(
        *("interval", "rows", "receiver: plan", "of the interval", "until released"),
        *("of the interval", "post-sort: plan", "of the interval"),
        title=f"Zipf {z:g}, {RATE:,} records per second, {BLOCKS} blocks",
    )
    for interval in (1, 2, 3):
        chunks = chunks_of(RATE * interval, z, seed)
        plans, releases, sorts = [], [], []
        for turn in range(repeats + 1):
            with fresh_receiver(interval=float(interval)) as receiver:
                for chunk in chunks:
                    receiver.take([chunk])
                buffer, planner = receiver._buffer, receiver.partitioner.planner
                assert planner is not None
                hosts, hashes = receiver.partitioner.hosts, buffer.hashes()
                begun = time.perf_counter()
                planner.plan(receiver._counted(buffer), exact=True)
                planned = time.perf_counter()
                receiver.flush()
                released = time.perf_counter()
                planner.plan(Histogram.from_hashes(hashes, hosts=hosts), exact=True)
                sorted_ = time.perf_counter()
                found = planned - begun, released - planned, sorted_ - released
            if turn:
                for kept, seconds in zip((plans, releases, sorts), found, strict=True):
                    kept.append(seconds)
        cells = [f"{interval} s", f"{RATE * interval:,}"]
        for each in (plans, releases, sorts):
            cells += [f"{1000 * median(each):.1f} ms", f"{median(each) / interval:.2%}"]
        table.add_row(*cells)
    return table


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--records", type=int, default=1_000_000)
    asked.add_argument("--repeats", type=int, default=3)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    console = Console(width=140)
    console.print(heading("A receiver on one core", given.seed))
    resolve("prompt", BLOCKS, split=True)
    chunks = chunks_of(given.records // CHUNK * CHUNK, 1.0, given.seed)
    console.print(throughput(chunks, given.repeats))
    console.print(counting(chunks[: RATE // CHUNK], given.repeats))
    for z in (0.5, 1.0, 1.5):
        console.print(planning(z, given.seed, given.repeats))


if __name__ == "__main__":
    main()
