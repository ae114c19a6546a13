"""Seconds that a function takes for the keys of a lane; the driver is told of the heaviest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.control.key_costs import KeySeconds
from trimtab.journal.keyed.entries import Longs

MOST_KEYS = 32
"""Keys of a lane that are told of because they took longest, and as many for having most rows."""


class KeyTimes:
    """Rows and seconds of a lane's keys, of which only the heaviest are kept."""

    def __init__(self) -> None:
        self.rows = 0
        self.seconds = 0.0
        nothing = np.zeros(0, dtype=np.int64)
        self._kept: tuple[NDArray[Any], ...] = (nothing, nothing, np.zeros(0))

    def add(self, hashes: Longs, rows: Longs, seconds: NDArray[np.float64]) -> None:
        """Count some keys in; a key may come several times."""
        self.rows += int(rows.sum())
        self.seconds += float(seconds.sum())
        columns = zip(self._kept, (hashes, rows, seconds), strict=True)
        keys, counts, spent = (np.concatenate(pair) for pair in columns)
        keys, at = np.unique(keys, return_inverse=True)
        counts = np.bincount(at, counts, keys.size).astype(np.int64)
        spent = np.bincount(at, spent, keys.size)
        kept = np.union1d(_largest(counts), _largest(spent))
        self._kept = keys[kept], counts[kept], spent[kept]

    def to_record(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        keys, rows, seconds = self._kept
        return {
            "rows": self.rows,
            "seconds": round(self.seconds, 6),
            "keys": [keys.tolist(), rows.tolist(), seconds.round(7).tolist()],
        }


def _largest(values: NDArray[Any]) -> NDArray[np.int64]:
    if values.size <= MOST_KEYS:
        return np.arange(values.size)
    return np.argpartition(-values, MOST_KEYS)[:MOST_KEYS]


def key_seconds(records: Iterable[dict[str, Any]]) -> KeySeconds:
    """Bring together what the lanes of a batch have told."""
    told = list(records)
    # Keys are whole: what has one hash is on one lane, and told of once.
    signed, rows, seconds = (
        np.concatenate([np.array(one["keys"][column], dtype=kind) for one in told])
        for column, kind in enumerate((np.int64, np.float64, np.float64))
    )
    return KeySeconds(
        signed.view(np.uint64),
        rows,
        seconds,
        float(sum(one["rows"] for one in told)),
        float(sum(one["seconds"] for one in told)),
    )
