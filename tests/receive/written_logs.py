"""Logs of receivers, written batch by batch as a test wants them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from trimtab import Histogram, hash_keys, planner
from trimtab.receive.log import Log
from trimtab.receive.manifest import BatchManifest

SCHEMA = "k string, x long, ts timestamp"
START = 1_700_000_000
"""Event time of the first row, in seconds."""

SECONDS = 10
"""Event time from one batch to the next."""


def rows_of(number: int, rows: int = 400) -> pa.Table:
    """Return the rows of a batch: skewed keys, a value that no other row has, a time."""
    rng = np.random.default_rng(number)
    micros = (START + SECONDS * number) * 1_000_000 + np.arange(rows) * 10_000
    return pa.table(
        {
            "k": pa.array([f"k{key}" for key in rng.zipf(1.4, rows) % 50]),
            "x": pa.array(np.arange(rows) + 1_000_000 * number, pa.int64()),
            "ts": pa.array(micros, pa.timestamp("us", "UTC")),
        }
    )


def write_log(
    place: Path, schema: str = SCHEMA, key: Sequence[str] = ("k",), blocks: int = 4
) -> Path:
    """Write a log without batches."""
    return Log.create(place, schema=schema, key=key, blocks=blocks).path


def write_batch(
    place: Path, number: int, rows: pa.Table | None = None, *, name: str = "r"
) -> pa.Table:
    """Write a batch, laid out by the log's planner; return its rows."""
    log = Log.open(place)
    rows = rows_of(number) if rows is None else rows
    hashes = hash_keys(rows["k"])
    histogram = Histogram.from_hashes(hashes)
    plan = planner(log.planner, lanes=log.blocks).plan(histogram)
    golden = np.uint64(0x9E3779B97F4A7C15)
    lanes = plan.route(hashes, np.arange(rows.num_rows, dtype=np.uint64) * golden)
    tables = [rows.filter(pa.array(lanes == block)) for block in range(log.blocks)]
    begun = START + SECONDS * number
    log.release(
        BatchManifest(
            number,
            log.write_blocks(number, name, tables, "token"),
            rows.num_rows,
            histogram.to_json(),
            plan.to_json(),
            None,
            begun,
            begun + 0.9,
            begun + 1.0,
            {name: (0, rows.num_rows)},
        )
    )
    return rows


def write_two_logs(place: Path) -> list[str]:
    """Write two logs: one with three batches in four blocks, one with one batch in two."""
    first, second = write_log(place / "a"), write_log(place / "b", blocks=2)
    for number in range(3):
        write_batch(first, number)
    write_batch(second, 0, rows_of(7))
    return [str(first), str(second)]
