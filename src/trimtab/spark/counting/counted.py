"""What a frame's keys weigh, found in one pass: the histogram that plans are made from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab._checks import one_of, real, whole
from trimtab.errors import InvalidArgument
from trimtab.histogram import UNITS, Histogram
from trimtab.spark.columns import KeyColumns, row_bytes_text, spare_names
from trimtab.spark.session_facts import shuffle_partitions

COUNTED_ROWS = 1 << 15
"""Rows of the first input partition that are all counted; half as many of the second, a third of
the third and so on: a frame of many partitions needs no more counted rows than one of few."""

LEAST_COUNTED_ROWS = 1 << 11
"""Rows of each input partition that are all counted: small frames are counted exactly."""

THINNED = 8
"""After the rows that are all counted, so many times as many are counted one in 8; after that one
in 64."""

KEY_SAMPLE = 64
"""One key in so many, chosen by its hash, is met in every row of the frame: rows that were thinned
out can not tell how many keys there are."""

LABEL_LENGTH = 80
"""Characters of a key's name that are kept: a key may be a megabyte long."""

LEAST_HITS = 16
"""A key of a thinned frame that was met less often is left to its host: its estimate would be off
by more than 1 / sqrt(16)."""

COUNTED_KEYS = 1 << 19
"""Counted keys that are all brought to the driver, of all partitions together; after them one in 8,
up to `THINNED` times as many, then one in 64. Of keys that were met `LEAST_HITS` times four times
as many come, and those that were met `HOT_HITS` times always. So the driver needs no more than some
200 MB for 10^9 rows, 10^8 keys and 10^4 lanes."""

HOT_HITS = 1 << 10
"""A key that was met so often is one of a few: no limit may lose it."""

NAMED_KEYS = 1 << 17
"""Counted keys of all partitions together whose names come along, and of those that were met
`LEAST_HITS` times four times as many."""


def known_keys(lanes: int) -> int:
    """Return how many heavy keys a plan for so many lanes is made from.

    Trim places keys from 1/50 of a lane's share on: there are at most 50 per lane, and rarely more
    than a dozen.
    """
    return max(1024, 16 * lanes)


@dataclass(frozen=True, eq=False)
class CountedKeys:
    """Counts of a frame's keys.

    Attributes
    ----------
    histogram
        Heavy keys, total, distinct and host weights, in the unit that was asked for.
    rows
        Number of rows.
    key_rows
        Rows of each key of the histogram, in its order.
    spark_loads
        Weight of each partition under Spark's own hash, if a number of partitions was given.
    exact
        Whether every row was counted; otherwise all figures are estimates.
    """

    histogram: Histogram
    rows: float
    key_rows: NDArray[np.float64]
    spark_loads: NDArray[np.float64] | None
    exact: bool


def count_frame(
    df: DataFrame,
    key: KeyColumns,
    *,
    hosts: int,
    top: int = 1024,
    weight: Column | None = None,
    unit: str = "rows",
    labels: bool = False,
    spark_lanes: int | None = None,
    sample: float | None = None,
    key_hash: Column | None = None,
    number_keys: bool = True,
    seed: int = 0,
) -> CountedKeys:
    """Read `df` once and count its keys.

    All of the first rows of each input partition are counted, then a random part, each counted
    row standing for the inverse of its chance. So frames of few rows are counted exactly, whatever
    their number of partitions, and a weight that was met `n` times has a relative error of about
    `1 / sqrt(n)`.

    Parameters
    ----------
    df, key
        The frame and its key.
    hosts
        Hosts to count by, 1 or more: as many as the planner will place.
    top
        Heaviest keys to keep, 0 or more.
    weight
        Weight of a row; by default 1, or the row's size where `unit` is "bytes".
    unit
        What a weight is.
    labels
        Whether to bring readable names of the heaviest keys along.
    spark_lanes
        Number of partitions for which to add up what Spark's own hash would give each.
    sample
        Share of the rows to look at, in (0, 1]; by default all.
    key_hash
        Hash to count by where it is not the hash of the key columns as they stand.
    number_keys
        Whether it matters how many keys there are: one key in 64 is then met in every row. Without,
        only the rows that are counted are hashed, which takes half the time, and the number is
        guessed from them: too low where most keys have few rows.
    seed
        Chooses the sampled rows.

    Notes
    -----
    Spark's `approx_top_k` and HLL sketches over all rows leave generated code and box every hash.
    Only the rows that pass the filter here are grouped at all. Their counts, some thirty bytes for
    each key, come to the driver: adding them up by host in Spark would be a second shuffle, which
    is more than a third of the time of a small job.
    """
    whole("hosts", hosts, 1)
    one_of("unit", unit, UNITS)
    fraction = 1.0 if sample is None else real("sample", sample, 0, 1, low_open=True)
    # Quicker than `df.sample`; another seed than for counting, so that the two do not agree.
    rows = df if fraction == 1.0 else df.where(F.rand(seed + 1) < fraction)
    hashed, factor = spare_names(df.columns, "hash", "factor")
    key_hash = (key.hash if key_hash is None else key_hash).alias(hashed)
    stands_for = F.expr(f"{_row_stands_for(seed)} AS {factor}")
    # Names, sizes and Spark's hash only of the rows that are counted: most are not.
    if number_keys:
        either = f"{factor} > 0 OR {_in_key_sample(hashed)}"
        counted = rows.select("*", key_hash, stands_for).where(either)
    else:
        counted = rows.select("*", stands_for).where(f"{factor} > 0").select("*", key_hash)
    columns = [F.col(hashed).alias("hash"), F.col(factor).alias("factor")]
    sums = ["count_if(factor > 0) AS hits", "sum(factor) AS rows"]
    if weight is not None or unit == "bytes":
        amount = F.expr(row_bytes_text(df.schema)) if weight is None else weight
        columns.append(F.coalesce(amount.cast("double"), F.lit(0.0)).alias("weight"))
        sums += ["sum(factor * weight) AS weight", "min(weight) AS least_weight"]
    grouping = ["hash"]
    if labels:
        grouping.append("label")
        columns.append(F.substring(key.label, 1, LABEL_LENGTH).alias("label"))
    if spark_lanes is not None:
        grouping.append("spark_lane")
        columns.append(F.pmod(F.hash(*key.columns), F.lit(spark_lanes)).alias("spark_lane"))
    keys = counted.select(*columns).groupBy(*grouping).agg(*map(F.expr, sums))
    partitions = shuffle_partitions(df.sparkSession)
    shown = [
        f"if({_comes(-(-NAMED_KEYS // partitions))}, label, NULL) AS label" if c == "label" else c
        for c in keys.columns
    ]
    standing = f"{_key_stands_for(seed, -(-COUNTED_KEYS // partitions))} AS keys"
    kept = keys.selectExpr(*shown, standing).where("keys > 0")
    return _read(
        _Found.of(kept.toArrow(), fraction, number_keys).by_hash(),
        *(hosts, top, unit, spark_lanes, fraction),
    )


_AT = f"(monotonically_increasing_id() & {(1 << 33) - 1}L)"
"""Position of a row in its partition, as SQL text."""


def _row_stands_for(seed: int) -> str:
    """Return, as SQL text, how many rows a counted row stands for; 0 if the row is not counted."""
    spread = f"{_AT} * (spark_partition_id() + 1)"
    return (
        f"CASE WHEN {spread} < {COUNTED_ROWS} OR {_AT} < {LEAST_COUNTED_ROWS} THEN 1 "
        f"WHEN {spread} < {THINNED * COUNTED_ROWS} OR {_AT} < {THINNED * LEAST_COUNTED_ROWS} "
        f"THEN if(rand({seed}L) < 0.125D, 8, 0) ELSE if(rand({seed}L) < 0.015625D, 64, 0) END"
    )


def _comes(each: int) -> str:
    """Tell, as SQL text, whether a key is among those that come in any case, `each` a partition."""
    return f"hits >= {HOT_HITS} OR {_AT} < {each} OR (hits >= {LEAST_HITS} AND {_AT} < {4 * each})"


def _key_stands_for(seed: int, each: int) -> str:
    """Return, as SQL text, how many keys a counted key stands for; 0 if it does not come along."""
    return (
        f"CASE WHEN {_comes(each)} THEN 1 "
        f"WHEN {_AT} < {THINNED * each} THEN if(rand({seed}L) < 0.125D, 8, 0) "
        f"ELSE if(rand({seed}L) < 0.015625D, 64, 0) END"
    )


def _in_key_sample(hashed: str) -> str:
    """Tell, as SQL text, whether a key is in the key sample: by the upper bits of its hash.

    The lower ones choose its host.
    """
    return f"shiftrightunsigned({hashed}, {64 - KEY_SAMPLE.bit_length() + 1}) = 0"


def count_rows(
    rows: pa.Table, of: float, *, hosts: int, top: int, spark_lanes: int | None
) -> CountedKeys:
    """Count rows on the driver that stand for `of` rows, more than there are.

    Parameters
    ----------
    rows
        A row of the table for each, with its `hash`, and `label` and `spark_lane` where asked for.
    of
        Number of rows of the frame.
    hosts, top, spark_lanes
        As for `count_frame`.
    """
    by = rows.column_names
    counts = rows.group_by(by).aggregate([([], "count_all")]).rename_columns([*by, "hits"])
    once = pa.array(np.ones(len(counts), dtype=np.int32))
    fraction = rows.num_rows / of
    table = counts.append_column("rows", counts["hits"]).append_column("keys", once)
    found = _Found.of(table, fraction, sampled=False).by_hash()
    counted = _read(replace(found, complete=False), hosts, top, "rows", spark_lanes, fraction)
    distinct = min(unmet_too(found.hits), int(of))
    # Their number is known: adding up what each key stands for would miss it by a rounding error.
    return replace(counted, rows=of, histogram=replace(counted.histogram, distinct=distinct))


def unmet_too(hits: NDArray[np.int64]) -> int:
    """Return how many keys there are, by Chao's estimate, from how often those met were met.

    It adds to them the square of those met once over twice those met twice: right where keys that
    are met so rarely have about as many rows each, and else too few.

    >>> unmet_too(np.array([9, 1, 1, 2, 1, 1]))
    14
    """
    once, twice = int((hits == 1).sum()), int((hits == 2).sum())
    return int(hits.size + once**2 / (2 * max(twice, 1)))


@dataclass(frozen=True, eq=False)
class _Found:
    """The counted keys; an entry of each array belongs to one key.

    Attributes
    ----------
    hashes
        Key hashes.
    hits
        Counted rows of the key.
    rows, weights
        What the key has, as the counted rows stand for it.
    stands_for
        Number of keys like it.
    labels
        Readable names, None if none were asked for.
    spark_lane
        Partition under Spark's hash, empty if it was not asked for.
    complete
        Whether no row and no key stands for another, of those that were looked at.
    sampled
        Whether the key sample was met in every row.
    """

    hashes: NDArray[np.uint64]
    hits: NDArray[np.int64]
    rows: NDArray[np.float64]
    weights: NDArray[np.float64]
    stands_for: NDArray[np.int32]
    labels: pa.ChunkedArray | None
    spark_lane: NDArray[np.int32]
    complete: bool
    sampled: bool

    @classmethod
    def of(cls, table: pa.Table, fraction: float, sampled: bool) -> Self:
        """Read the arrays from `table`, counted from a part of the rows."""

        def column(name: str, other: NDArray[Any]) -> NDArray[Any]:
            return table[name].to_numpy() if name in table.column_names else other

        hits, rows, stands_for = (table[name].to_numpy() for name in ("hits", "rows", "keys"))
        weights = column("weight", rows)
        if not (column("least_weight", rows) >= 0).all() or not np.isfinite(weights).all():
            raise InvalidArgument("weights must be finite and >= 0; the weight column has others")
        return cls(
            table["hash"].to_numpy().view(np.uint64),
            hits,
            rows / fraction,
            weights / fraction,
            stands_for,
            table["label"] if "label" in table.column_names else None,
            column("spark_lane", np.zeros(0, dtype=np.int32)),
            bool((stands_for == 1).all() and hits.sum() == rows.sum()),
            sampled,
        )

    def by_hash(self) -> Self:
        """Return the same with each hash once: zeros of both signs are one key with two names."""
        order = np.argsort(self.hashes, kind="stable")
        hashes = self.hashes[order]
        starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
        if starts.size >= hashes.size:
            return self
        first = order[starts]

        def added_up(values: NDArray[Any]) -> NDArray[Any]:
            return np.add.reduceat(values[order], starts)

        return replace(
            self,
            hashes=hashes[starts],
            hits=added_up(self.hits),
            rows=added_up(self.rows * self.stands_for) / self.stands_for[first],
            weights=added_up(self.weights * self.stands_for) / self.stands_for[first],
            stands_for=self.stands_for[first],
            labels=None if self.labels is None else self.labels.take(pa.array(first)),
            spark_lane=self.spark_lane[first] if self.spark_lane.size else self.spark_lane,
        )

    def heaviest(self, top: int) -> NDArray[np.int64]:
        """Return the places of the heaviest keys that were met often enough, the heaviest first."""
        least = 1 if self.complete else LEAST_HITS
        met = np.flatnonzero(self.hits >= least)
        return met[np.lexsort((self.hashes[met], -self.weights[met]))[:top]]

    def distinct(self) -> int:
        """Return the number of keys: those met, or those of the key sample by its inverse share."""
        met = int(self.stands_for[self.hits > 0].sum())
        singles = int(self.stands_for[self.hits == 1].sum())
        # Good and Turing: the share of keys met once tells how many were not met at all.
        if self.complete or singles < 0.05 * met:
            return met
        if not self.sampled:
            hits = int((self.hits * self.stands_for).sum())
            return keys_beyond(met, singles, hits, float((self.rows * self.stands_for).sum()))
        in_sample = self.hashes >> np.uint64(64 - KEY_SAMPLE.bit_length() + 1) == 0
        return max(met, int(self.stands_for[in_sample].sum()) * KEY_SAMPLE)


def keys_beyond(met: int, once: int, rows: int, of: float) -> int:
    """Return how many keys `of` rows have, if so many of them have met some, and some once.

    Good and Turing: as large a share of all rows is of keys that were not met as there were rows
    whose key was met once.

    >>> keys_beyond(100, 50, 1000, 1e6), keys_beyond(100, 100, 100, 1e6)
    (105, 10000)
    """
    covered = max(1.0 - once / rows, 1.0 / rows)
    return int(min(met / covered, of))


def _read(
    found: _Found, hosts: int, top: int, unit: str, spark_lanes: int | None, fraction: float
) -> CountedKeys:
    weights = found.weights * found.stands_for

    def added_up(places: NDArray[Any], count: int) -> NDArray[np.float64]:
        return np.bincount(places, weights, count).astype(np.float64)

    heavy = found.heaviest(top)
    labels = [] if found.labels is None else found.labels.take(pa.array(heavy)).to_pylist()
    histogram = Histogram(
        found.hashes[heavy],
        found.weights[heavy],
        float(weights.sum()),
        found.distinct(),
        unit,
        {int(key): label for key, label in zip(found.hashes[heavy], labels, strict=False) if label},
        added_up((found.hashes % np.uint64(hosts)).astype(np.int64), hosts),
    )
    return CountedKeys(
        histogram,
        float((found.rows * found.stands_for).sum()),
        found.rows[heavy],
        None if spark_lanes is None else added_up(found.spark_lane, spark_lanes),
        found.complete and fraction == 1.0,
    )
