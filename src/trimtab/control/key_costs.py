"""What a row of each key costs, measured batch by batch, so that plans level work and not rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trimtab._key_arrays import host_of
from trimtab.histogram import Histogram

ROW_SECONDS = 2e-6
"""What every row costs outside of the function that was measured: it moves and is sorted."""

LEAST_SECONDS = 0.05
"""A lane whose share of the measured work is less than this is levelled by rows: other things take
longer, and so short a time is mostly chance."""

LEAST_SHARE = 0.1
"""Part of a level lane by which the weight of some key must differ for seconds to count: two
batches of the same rows differ as much in time."""

REMEMBERED = 8
"""Batches after which the cost of a key that had no rows is forgotten."""

MOST_KEYS = 1 << 13
"""Keys whose cost is remembered, at most: those that took longest."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KeySeconds:
    """What was measured in one batch.

    Attributes
    ----------
    hashes, rows, seconds
        The keys that had most rows or took longest, each once.
    all_rows, all_seconds
        Rows and seconds of all keys, these among them.
    """

    hashes: NDArray[np.uint64]
    rows: Floats
    seconds: Floats
    all_rows: float
    all_seconds: float


def _none(kind: type[np.generic] = np.float64) -> NDArray[Any]:
    return np.zeros(0, dtype=kind)


@dataclass(frozen=True, eq=False)
class KeyCosts:
    """Seconds per row of the keys that count, and of all others together.

    What is measured is never too little and often too much: a task waits for its processor, a
    process starts. So the lower of a key's last two measurements holds, and a key that was measured
    once is taken for one like the others.

    Attributes
    ----------
    keys
        The keys, rising.
    newest, before
        Seconds per row in the last two batches with rows of the key; infinite if there was none.
    rows
        Rows that a batch has of the key, on average over some batches.
    age
        Batches since the key was measured.
    rest
        Seconds per row of all other keys in the last two batches.
    seconds
        Seconds of all keys in the newest batch.

    Examples
    --------
    >>> rows = Histogram.from_counts({1: 50.0, 2: 50.0}, total=200.0, distinct=50)
    >>> slow = KeySeconds(np.array([1], np.uint64), np.array([50.0]), np.array([8.0]), 200.0, 10.0)
    >>> costs = KeyCosts().after(slow).after(slow)
    >>> weighed = costs.weighed(rows, lanes=4)
    >>> weighed.total, [round(float(weight)) for weight in weighed.weights]
    (200.0, [160, 13])
    """

    keys: NDArray[np.uint64] = field(default_factory=lambda: _none(np.uint64))
    newest: Floats = field(default_factory=_none)
    before: Floats = field(default_factory=_none)
    rows: Floats = field(default_factory=_none)
    age: Floats = field(default_factory=_none)
    rest: tuple[float, float] = (np.inf, np.inf)
    seconds: float = 0.0

    def after(self, measured: KeySeconds) -> Self:
        """Return what is known after a batch."""
        if measured.all_rows <= 0:
            return self
        keys = np.union1d(self.keys, measured.hashes)
        old, new = np.searchsorted(keys, self.keys), np.searchsorted(keys, measured.hashes)
        newest, before = np.full((2, keys.size), np.inf)
        rows, age = np.zeros(keys.size), np.zeros(keys.size)
        newest[old], before[old], age[old] = self.newest, self.before, self.age + 1.0
        rows[old] = 0.5 * self.rows
        known = np.zeros(keys.size, dtype=bool)
        known[old] = True
        before[new] = newest[new]
        newest[new] = measured.seconds / np.maximum(1.0, measured.rows) + ROW_SECONDS
        rows[new] += np.where(known[new], 0.5, 1.0) * measured.rows
        age[new] = 0.0
        other_rows = measured.all_rows - float(measured.rows.sum())
        other_seconds = max(0.0, measured.all_seconds - float(measured.seconds.sum()))
        rest = self.rest
        if other_rows > 0:
            rest = (other_seconds / other_rows + ROW_SECONDS, rest[0])
        kept = np.flatnonzero(age <= REMEMBERED)
        if kept.size > MOST_KEYS:
            heaviest = np.argsort(-(newest * rows)[kept], kind="stable")[:MOST_KEYS]
            kept = np.sort(kept[heaviest])
        return replace(
            self,
            keys=keys[kept],
            newest=newest[kept],
            before=before[kept],
            rows=rows[kept],
            age=age[kept],
            rest=rest,
            seconds=measured.all_seconds,
        )

    def weighed(self, histogram: Histogram, lanes: int, *, exact: bool = False) -> Histogram:
        """Return rows of keys as rows of mean cost; as they are where seconds say nothing else.

        The total stays what it is, so that histograms weighed and not weighed can be compared.

        Parameters
        ----------
        histogram
            Keys by rows.
        lanes
            Number of lanes that are to be level.
        exact
            Whether every key with rows is in the histogram. Otherwise a key that is not, but has
            taken long before, gets as many rows as it had then.
        """
        if histogram.total <= 0 or self.seconds < lanes * LEAST_SECONDS:
            return histogram
        sure = np.flatnonzero(np.isfinite(self.before))
        if not sure.size:
            return histogram
        keys, per_row = self.keys[sure], np.minimum(self.newest, self.before)[sure]
        rest = min(self.rest)
        if not np.isfinite(rest):
            rest = float(np.average(per_row, weights=np.maximum(self.rows[sure], 1e-9)))
        hashes, rows = histogram.hashes, histogram.weights
        if not exact:
            unseen = np.flatnonzero(~np.isin(keys, hashes) & (self.age[sure] == 0.0))
            hashes = np.concatenate([hashes, keys[unseen]])
            rows = np.concatenate([rows, self.rows[sure][unseen]])
        at = np.minimum(np.searchsorted(keys, hashes), keys.size - 1)
        cost = np.where(keys[at] == hashes, per_row[at], rest)
        total = max(histogram.total, float(rows.sum()))
        seconds = rows * cost
        all_seconds = float(seconds.sum()) + (total - float(rows.sum())) * rest
        factor = total / all_seconds
        weights = seconds * factor
        if np.abs(weights - rows).max() < LEAST_SHARE * total / lanes:
            return histogram
        hosts = histogram.host_weights
        if hosts is not None:
            more = np.bincount(host_of(hashes, hosts.size), rows * (cost - rest), hosts.size)
            hosts = np.maximum(0.0, hosts * rest + more) * factor
        return Histogram(
            hashes, weights, total, histogram.distinct, histogram.unit, histogram.labels, hosts
        )

    def state(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        numbers = {
            name: [_written(value) for value in getattr(self, name).tolist()]
            for name in ("newest", "before", "rows", "age")
        }
        rest = [_written(value) for value in self.rest]
        keys = [str(key) for key in self.keys.tolist()]
        return {"keys": keys, **numbers, "rest": rest, "seconds": self.seconds}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Read what `state` returned; a KeyError, TypeError or ValueError means damage."""
        keys = np.array([int(key) for key in state["keys"]], dtype=np.uint64)
        numbers = {
            name: np.array([_read(value) for value in state[name]], dtype=np.float64)
            for name in ("newest", "before", "rows", "age")
        }
        newest, before = (_read(value) for value in state["rest"])
        return cls(keys, **numbers, rest=(newest, before), seconds=float(state["seconds"]))


def _written(value: float) -> float | None:
    """JSON has no infinity."""
    return value if np.isfinite(value) else None


def _read(value: float | None) -> float:
    return np.inf if value is None else float(value)
