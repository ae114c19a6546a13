"""What every report is made from: a run, its batches, and what was measured of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab import metrics
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram


@dataclass(frozen=True, eq=False)
class BatchFigures:
    """What was measured of one micro-batch, or of one window of a stream.

    Attributes
    ----------
    batch
        Its number.
    loads
        Weight of each lane.
    bound
        The least weight that the heaviest lane could have had: `max(total / lanes, heaviest key)`,
        the latter only where keys must be whole.
    hottest
        Names and weights of the heaviest keys, heaviest first.
    rows, distinct
        Number of rows and of distinct keys; None where they were not counted.
    replication
        (key, lane) pairs per key; 1 if every key was on one lane. None where not measured.
    version, changed, reason
        The plan's version, whether this batch brought a new one, and why or why not.
    seconds
        How long the batch took; None where nothing ran.
    look_seconds, look
        How long its keys were looked at before it was planned, None if they were not; and why or
        why not.
    late, watermark
        Rows behind the watermark, and the watermark after the batch.
    tasks, scaling
        Tasks run, and why their number has changed or not.
    moved_bytes
        Bytes that were sent to their lanes.
    moved_state
        What of the keys' state moved and what that cost, in words; empty if none did.
    straggler
        The lane that others waited for, and why: a hot key, a slow machine, or costly rows. None if
        lanes were level, or not measured.
    """

    batch: int
    loads: NDArray[np.float64]
    bound: float
    hottest: tuple[tuple[str, float], ...] = ()
    rows: int | None = None
    distinct: int | None = None
    replication: float | None = None
    version: int | None = None
    changed: bool = False
    reason: str = ""
    seconds: float | None = None
    look_seconds: float | None = None
    look: str = ""
    late: int | None = None
    watermark: str | None = None
    tasks: int | None = None
    scaling: str = ""
    moved_bytes: int | None = None
    moved_state: str = ""
    straggler: str | None = None

    @classmethod
    def of_lanes(
        cls,
        batch: int,
        hashes: ArrayLike,
        lanes: ArrayLike,
        n: int,
        *,
        splits_keys: bool,
        labels: dict[int, str] | None = None,
        top: int = 10,
    ) -> Self:
        """Measure a batch in memory.

        Parameters
        ----------
        batch
            Its number.
        hashes, lanes
            The key hash and the lane of each row.
        n
            The number of lanes.
        splits_keys
            Whether keys may be split; where not, the heaviest key is part of the lower bound.
        labels
            Names of keys by their hash.
        top
            How many of the heaviest keys to name.
        """
        costs = metrics.costs(hashes, lanes, n)
        known = Histogram.from_hashes(hashes, top=top)
        named = replace(known, labels=labels or {})
        return cls(
            batch=batch,
            loads=costs.loads,
            bound=costs.tuples / n if splits_keys else costs.lower_bound,
            hottest=tuple(
                (named.label(key), weight)
                for key, weight in zip(known.hashes.tolist(), known.weights.tolist(), strict=True)
            ),
            rows=costs.tuples,
            distinct=costs.keys,
            replication=costs.replication,
        )

    @property
    def total(self) -> float:
        """Weight of the whole batch."""
        return float(self.loads.sum())

    @property
    def max_over_mean(self) -> float:
        """The heaviest lane over the mean lane."""
        return metrics.max_over_mean(self.loads)

    @property
    def over_bound(self) -> float:
        """The heaviest lane over the least it could have been; 1 is perfect."""
        return float(self.loads.max()) / self.bound if self.bound > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Run:
    """One job from its first batch to its last.

    Parameters
    ----------
    name
        What people call it, such as "Spark's hash".
    batches
        In order of their numbers; at least one.
    unit
        What a load is: rows, bytes or seconds.
    """

    name: str
    batches: Sequence[BatchFigures]
    unit: str = "rows"

    def __post_init__(self) -> None:
        if not self.batches:
            raise InvalidArgument(f"run {self.name!r} has no batches; there is nothing to report")

    @property
    def lanes(self) -> int:
        """The most lanes that any batch had."""
        return max(batch.loads.size for batch in self.batches)

    @property
    def numbers(self) -> list[int]:
        """The batches' numbers."""
        return [batch.batch for batch in self.batches]

    @property
    def max_over_mean(self) -> float:
        """The heaviest lane over the mean lane, averaged over batches by their weight."""
        return self._weighted([batch.max_over_mean for batch in self.batches])

    @property
    def over_bound(self) -> float:
        """The heaviest lane over the lower bound, averaged over batches by their weight."""
        return self._weighted([batch.over_bound for batch in self.batches])

    @property
    def seconds(self) -> float | None:
        """Seconds of all batches together; None unless every one was timed."""
        times = [batch.seconds for batch in self.batches if batch.seconds is not None]
        return sum(times) if len(times) == len(self.batches) else None

    @property
    def replication(self) -> float | None:
        """(key, lane) pairs per key, averaged over batches by their weight; None if unmeasured."""
        found = [batch.replication for batch in self.batches if batch.replication is not None]
        return self._weighted(found) if len(found) == len(self.batches) else None

    @property
    def changes(self) -> list[BatchFigures]:
        """The batches that brought a new plan."""
        return [batch for batch in self.batches if batch.changed]

    def heat(self) -> NDArray[np.float64]:
        """Return each lane's load over its batch's lower bound, as lanes x batches.

        It is NaN where a batch had fewer lanes than others.
        """
        grid = np.full((self.lanes, len(self.batches)), np.nan)
        for column, batch in enumerate(self.batches):
            grid[: batch.loads.size, column] = batch.loads / batch.bound if batch.bound > 0 else 0
        return grid

    def hottest_keys(self, most: int) -> list[tuple[str, NDArray[np.float64]]]:
        """Return the `most` keys with the highest peaks, each with its share of every batch.

        They are in the order in which they first appear. A share is NaN where the key was not
        among the hottest of a batch.
        """
        shares: dict[str, NDArray[np.float64]] = {}
        for column, batch in enumerate(self.batches):
            for name, weight in batch.hottest:
                row = shares.setdefault(name, np.full(len(self.batches), np.nan))
                row[column] = weight / batch.total if batch.total > 0 else 0.0
        ranked = sorted(shares.items(), key=lambda item: (-float(np.nanmax(item[1])), item[0]))
        return sorted(ranked[:most], key=lambda item: int(np.flatnonzero(~np.isnan(item[1]))[0]))

    def typical(self) -> int:
        """Return the position of the batch with the median max/mean; of two, the higher one."""
        order = np.argsort([batch.max_over_mean for batch in self.batches], kind="stable")
        return int(order[len(order) // 2])

    def _weighted(self, values: Sequence[float]) -> float:
        weights = [batch.total for batch in self.batches]
        return float(np.average(values, weights=weights if sum(weights) > 0 else None))
