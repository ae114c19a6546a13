"""Logs and records that tests of the receiver share."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from trimtab.receive.arrivals import Chunk
from trimtab.receive.log import Log

SCHEMA = "k long, x long"


def log(tmp_path: Path, **settings: Any) -> Log:
    return Log.create(tmp_path / "log", **{"schema": SCHEMA, "key": "k", "blocks": 4, **settings})


def text(ids: Iterable[int], start: int = 0) -> bytes:
    return "".join(f'{{"k": {key}, "x": {start + at}}}\n' for at, key in enumerate(ids)).encode()


def lines(ids: Iterable[int], start: int = 0, **facts: Any) -> Chunk:
    data = text(ids, start)
    return Chunk("json", data, data.count(b"\n"), **facts)


def rows(place: Log, batch: int) -> list[list[dict[str, int]]]:
    manifest = place.manifest(batch)
    return [place.read_block(batch, block).to_pylist() for block in manifest.blocks]


def numbers(place: Log) -> list[int]:
    """Return the x of all rows that are not committed; what manifests say is checked on the way."""
    found = []
    for batch in range(place.oldest(), place.newest() + 1):
        manifest, blocks = place.manifest(batch), rows(place, batch)
        counts = Counter(row["k"] for block in blocks for row in block)
        assert manifest.rows == sum(counts.values()) == manifest.histogram.total
        assert manifest.histogram.distinct == len(counts)
        found += [row["x"] for block in blocks for row in block]
    return sorted(found)


def eventually(true: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until something is true; fail if it does not become so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it has not become true"
        time.sleep(0.005)
