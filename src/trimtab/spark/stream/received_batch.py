"""What receivers tell of the batch in hand: its keys, counted, and the blocks its rows are in.

Both stand in the manifests of the logs' batches, and Spark notes which of these a micro-batch holds
before it runs. So nothing has to be read or counted to plan it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab.histogram import Histogram
from trimtab.journal.spark_offsets import Offsets, read_offsets
from trimtab.journal.store import Store
from trimtab.metrics import max_over_mean
from trimtab.plan import Plan
from trimtab.receive.manifest import BatchManifest
from trimtab.receive.processed import note_processed
from trimtab.receive.reading import LogReader, Position, batches_of
from trimtab.spark.counting.look import Looked
from trimtab.spark.routing.compiled import MOST_INLINE_KEYS
from trimtab.spark.routing.route import Route
from trimtab.spark.stream.course import Course
from trimtab.spark.stream.knowledge import Knowledge
from trimtab.spark.stream.looking import TOLD, Look


class Newest(NamedTuple):
    """The newest batch of a log in a micro-batch, and the rows of all its batches there."""

    batch: int
    rows: int


@dataclass(frozen=True, eq=False)
class Told:
    """What receivers tell of a micro-batch.

    Attributes
    ----------
    histogram
        Its keys, all of its rows counted.
    manifests, first
        The batches of logs that it is made of, and the lane that each one's first block is.
    blocks
        Rows in each block: a lane is a block.
    newest
        By log: the newest batch of it in here.
    """

    histogram: Histogram
    manifests: Sequence[BatchManifest]
    first: Sequence[int]
    blocks: NDArray[np.int64]
    newest: Mapping[str, Newest]

    @cached_property
    def plan(self) -> Plan:
        """Where the receivers have put the heaviest keys. It is read where somebody asks."""
        plans = [manifest.plan or Plan(_blocks(manifest)) for manifest in self.manifests]
        if len(plans) == 1:
            return heaviest(plans[0], self.histogram)
        histograms = [manifest.histogram for manifest in self.manifests]
        ends = [first + plan.lanes for first, plan in zip(self.first, plans, strict=True)]
        plan = side_by_side(plans, histograms, self.first, max(self.blocks.size, *ends))
        return heaviest(plan, self.histogram)

    def look(self) -> Look:
        """Return what stands for a look at the keys."""
        level = max_over_mean(self.blocks)
        return Look(TOLD, "the receiver has counted the keys", 0.0, self.rows, True, level)

    def looked(self) -> Looked:
        """Return what such a look has shown."""
        return Looked(self.histogram, self.rows, exact=True)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.blocks.sum())

    def course(self, known: Knowledge) -> Course:
        """Return the course of a batch whose rows stay in the blocks that the receivers made."""
        changed = self.plan != known.plan
        look = self.look()
        maker = self.manifests[-1].router or self.plan.maker or "receiver"
        # A block without rows has no file: the last ones may be known to the plan alone.
        unseen = self.plan.lanes - self.blocks.size
        return Course(
            route=Route(self.plan.lanes, maker, self.plan.splits_keys, self.plan),
            reduce_tasks=None,
            version=known.version + (1 if changed or known.version == 0 else 0),
            changed=changed,
            reason=f"plan of the receiver: rows stay in its blocks, max/mean {look.promised:.2f}",
            look=look,
            blocks=(*self.blocks.tolist(), *[0] * unseen),
        )

    def note_seconds(self, seconds: float) -> None:
        """Note in the logs how long the batch took, for the receivers to hear once it is done."""
        for path, newest in self.newest.items():
            note_processed(path, newest.batch, seconds, newest.rows)


class Receivers:
    """The logs that a stream reads.

    Parameters
    ----------
    logs
        Their paths; none for a stream from any other source.
    keys
        The key columns of the stream. Where those of the logs are others, the receivers have
        counted something else, and tell nothing.
    names
        Whether hot keys are named "plain", as they are, or by their "hash".
    """

    def __init__(
        self, logs: Sequence[str] = (), keys: Sequence[str] = (), names: str = "plain"
    ) -> None:
        self.logs = tuple(logs)
        self.keys = tuple(keys)
        self.names = names
        # On Connect this object travels to the process that runs the batches, and opens them there.
        self._reader: LogReader | None = None

    def told(self, checkpoint: Store, number: int, offsets: Offsets | None) -> Told | None:
        """Return what receivers tell of a batch that Spark has noted; None if they tell nothing."""
        if not self.logs or offsets is None:
            return None
        if self._reader is None:
            self._reader = LogReader(self.logs)
        if self._reader.key != self.keys:
            return None
        end = _position(offsets)
        before = read_offsets(checkpoint, number - 1) if number else None
        if end is None or (number and before is None):
            return None
        start = None if before is None else _position(before)
        # Before its first offset Spark asks a source where it begins, and so do we.
        return self._told(self._reader, start or self._reader.first(), end)

    def _told(self, reader: LogReader, start: Position, end: Position) -> Told | None:
        found = [(path, reader.manifest(path, n)) for path, n in reader.between(start, end)]
        if not found:
            return None
        lanes: dict[str, int] = {}
        for path, manifest in found:
            lanes[path] = max(lanes.get(path, 1), _blocks(manifest))
        ends = np.cumsum(list(lanes.values()))
        first = dict(zip(lanes, (ends - list(lanes.values())).tolist(), strict=True))
        blocks = np.zeros(ends[-1], dtype=np.int64)
        newest: dict[str, Newest] = {}
        for path, manifest in found:
            rows = newest.get(path, (0, 0))[1] + manifest.rows
            newest[path] = Newest(manifest.batch, rows)
            for block in manifest.blocks:
                blocks[first[path] + block.block] += block.rows
        manifests = [manifest for _, manifest in found]
        histogram = manifests[0].histogram
        if len(manifests) > 1:
            histogram = histogram.merge(*(manifest.histogram for manifest in manifests[1:]))
        if histogram.labels:
            histogram = histogram.named(self.names)
        return Told(histogram, manifests, [first[path] for path, _ in found], blocks, newest)


def heaviest(plan: Plan, histogram: Histogram, most: int = MOST_INLINE_KEYS) -> Plan:
    """Return a plan of a plan's heaviest keys alone, so that what is written of a batch is short.

    >>> plan = Plan(2, {5: 0, 6: 1, 7: [(0, 0.5), (1, 0.5)]})
    >>> heaviest(plan, Histogram.from_counts({5: 4, 6: 9, 7: 20}), most=2).all_fragments()
    {6: [(1, 1.0)], 7: [(0, 0.5), (1, 0.5)]}
    """
    if len(plan) <= most:
        return plan
    at, named = plan.find(histogram.hashes)
    # By falling weight, as histograms are.
    kept = np.sort(at[named][:most])
    counts = np.diff(plan.starts)
    starts = np.append(0, np.cumsum(counts[kept]))
    fragments = np.repeat(plan.starts[kept] - starts[:-1], counts[kept]) + np.arange(starts[-1])
    return Plan.from_arrays(
        plan.lanes,
        plan.keys[kept],
        starts.astype(np.int32),
        plan.lane_of[fragments],
        plan.shares[fragments],
        plan.hosts,
        plan.maker,
    )


def side_by_side(
    plans: Sequence[Plan], histograms: Sequence[Histogram], first: Sequence[int], lanes: int
) -> Plan:
    """Return one plan for rows that were laid out by several, each from a lane of its own on.

    A key's share of a lane is its rows there, by all plans that name it, over its rows in all of
    them. Keys that no plan names are where the last one has them.

    >>> one = Plan(2, {5: 0, 6: 1})
    >>> two = Plan(2, {5: [(0, 0.5), (1, 0.5)]})
    >>> counts = [Histogram.from_counts({5: 10, 6: 4}), Histogram.from_counts({5: 20})]
    >>> both = side_by_side([one, two], counts, [0, 0], 2)
    >>> {key: [(lane, round(share, 2)) for lane, share in found]
    ...     for key, found in both.all_fragments().items()}
    {5: [(0, 0.67), (1, 0.33)], 6: [(1, 1.0)]}
    """
    keys, lane_of, weights = [], [], []
    for plan, histogram, begin in zip(plans, histograms, first, strict=True):
        at, named = plan.find(histogram.hashes)
        weight = np.ones(len(plan))
        weight[at[named]] = histogram.weights[named]
        owner = np.repeat(np.arange(len(plan)), np.diff(plan.starts))
        keys.append(plan.keys[owner])
        lane_of.append(plan.lane_of + begin)
        weights.append(weight[owner] * plan.shares)
    key, lane, weight = np.concatenate(keys), np.concatenate(lane_of), np.concatenate(weights)
    order = np.lexsort((lane, key))
    key, lane, weight = key[order], lane[order], weight[order]
    is_new = np.ones(key.size, dtype=bool)
    is_new[1:] = (key[1:] != key[:-1]) | (lane[1:] != lane[:-1])
    pairs = np.flatnonzero(is_new)
    sums = np.add.reduceat(weight, pairs) if pairs.size else np.zeros(0)
    key, lane = key[pairs], lane[pairs].astype(np.int32)
    known, starts, counts = np.unique(key, return_index=True, return_counts=True)
    totals = np.add.reduceat(sums, starts) if starts.size else np.zeros(0)
    return Plan.from_arrays(
        lanes,
        known,
        np.append(starts, key.size).astype(np.int32),
        lane,
        sums / np.repeat(totals, counts),
        plans[-1].hosts + first[-1],
        plans[-1].maker,
    )


def _blocks(manifest: BatchManifest) -> int:
    """Return how many blocks a batch has, as far as rows are in them."""
    return 1 + max((block.block for block in manifest.blocks), default=0)


def _position(offsets: Offsets) -> Position | None:
    """Return the position in logs among the offsets of all sources; None if there is none."""
    for line in offsets.sources:
        try:
            found = json.loads(line)
        except ValueError:  # a source that has nothing yet, or writes something else
            continue
        if batches_of(found) is not None:
            position: Position = found
            return position
    return None
