"""What a frame's keys weigh, found in one pass: the histogram that plans are made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab._checks import one_of, real, whole
from trimtab.errors import InvalidArgument
from trimtab.histogram import UNITS, Histogram
from trimtab.spark.columns import KeyColumns, row_bytes_text
from trimtab.spark.layout import unsigned_mod

COUNTED_ROWS = 1 << 15
"""Rows of each input partition that are all counted: small frames are counted exactly."""

THINNED_ROWS = 1 << 18
"""Rows of each input partition up to which one row in 8 is counted; after that one in 64."""

KEY_SAMPLE = 64
"""One key in so many, chosen by its hash, is met in every row of the frame: rows that were thinned
out can not tell how many keys there are."""

LEAST_HITS = 16
"""A key of a thinned frame that was met less often is left to its host: its estimate would be off
by more than 1 / sqrt(16)."""

MOST_PER_HOST = 8
"""Keys kept per host. Heavy keys fall on hosts by their hash: with a few heavy keys per lane and 64
hosts per lane, nine on one host do not happen."""


@dataclass(frozen=True, eq=False)
class Statistics:
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


def collect_statistics(
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
    seed: int = 0,
) -> Statistics:
    """Read `df` once and count its keys.

    All of the first `COUNTED_ROWS` rows of each input partition are counted, then a random part,
    each counted row standing for the inverse of its chance. So frames of few rows are counted
    exactly, whatever their number of partitions, and a weight that was met `n` times has a relative
    error of about `1 / sqrt(n)`.

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
    seed
        Chooses the sampled rows.

    Notes
    -----
    Spark's `approx_top_k` and HLL sketches over all rows take about twice as long as this pass:
    they leave generated code and box every hash. Only the rows that pass the filter here are
    grouped at all.
    """
    whole("hosts", hosts, 1)
    one_of("unit", unit, UNITS)
    fraction = 1.0 if sample is None else real("sample", sample, 0, 1, low_open=True)
    rows = df if fraction == 1.0 else df.sample(fraction, seed=seed)
    amount = F.lit(1.0)
    if weight is not None:
        amount = F.coalesce(weight.cast("double"), F.lit(0.0))
    elif unit == "bytes":
        amount = F.expr(row_bytes_text(df.schema)).cast("double")
    counted = rows.select(
        (key.hash if key_hash is None else key_hash).alias("hash"),
        amount.alias("weight"),
        F.expr(_stands_for(seed)).alias("factor"),
        (key.label if labels else F.lit("")).alias("label"),
        (_spark_lane(key, spark_lanes) if spark_lanes else F.lit(0)).alias("spark_lane"),
    ).where(f"factor > 0 OR {IN_KEY_SAMPLE}")
    found = _by_host(_by_key(counted), hosts, spark_lanes is not None).toArrow()
    return _read(found, hosts, top, unit, spark_lanes, fraction)


def _stands_for(seed: int) -> str:
    """Give, as SQL text, how many rows a counted row stands for; 0 if the row is not counted."""
    at = f"(monotonically_increasing_id() & {(1 << 33) - 1}L)"
    chance = f"rand({seed}L)"
    return (
        f"CASE WHEN {at} < {COUNTED_ROWS} THEN 1 "
        f"WHEN {at} < {THINNED_ROWS} THEN if({chance} < 0.125D, 8, 0) "
        f"ELSE if({chance} < 0.015625D, 64, 0) END"
    )


IN_KEY_SAMPLE = f"shiftrightunsigned(hash, {64 - KEY_SAMPLE.bit_length() + 1}) = 0"
"""Whether a key is in the key sample, as SQL text. By the upper bits: hosts go by the lower."""


def _spark_lane(key: KeyColumns, lanes: int) -> Column:
    return F.pmod(F.hash(*key.columns), F.lit(lanes))


def _by_key(counted: DataFrame) -> DataFrame:
    return counted.groupBy("hash", "label", "spark_lane").agg(
        F.expr("count_if(factor > 0) AS hits"),
        F.expr("sum(factor) AS rows"),
        F.expr("sum(factor * weight) AS weight"),
        F.expr("min(weight) AS least_weight"),
    )


def _by_host(keys: DataFrame, hosts: int, spark: bool) -> DataFrame:
    """Bring the keys together by host, the heaviest named; with `spark`, by Spark's lanes too."""
    places = f"cast({unsigned_mod('hash', hosts)} AS int)"
    if spark:
        # Spark's lane i stands as place -1 - i, so that one grouping serves both.
        places = f"explode(array({places}, -1 - spark_lane))"
    named = "if(place >= 0, struct(weight, rows, hits, hash, label), NULL)"
    return (
        keys.select("*", F.expr(f"{places} AS place"))
        .groupBy("place")
        .agg(
            F.expr("sum(hits) AS hits"),
            F.expr("sum(rows) AS rows"),
            F.expr("sum(weight) AS weight"),
            F.expr("min(least_weight) AS least_weight"),
            F.expr("count_if(hits > 0) AS keys"),
            F.expr("count_if(hits = 1) AS singles"),
            F.expr(f"count_if({IN_KEY_SAMPLE}) AS sampled_keys"),
            F.expr(f"slice(sort_array(collect_list({named}), false), 1, {MOST_PER_HOST}) AS top"),
        )
    )


def _read(
    found: pa.Table,
    hosts: int,
    top: int,
    unit: str,
    spark_lanes: int | None,
    fraction: float,
) -> Statistics:
    place, hits, rows, weight, least, keys, singles, sampled = (
        found[name].to_numpy()
        for name in (
            *("place", "hits", "rows", "weight", "least_weight"),
            *("keys", "singles", "sampled_keys"),
        )
    )
    spark_loads = None
    if spark_lanes is not None:
        spark_loads = np.zeros(spark_lanes)
        spark_loads[-1 - place[place < 0]] = weight[place < 0] / fraction
    at_host = place >= 0
    if not (least[at_host] >= 0).all() or not np.isfinite(weight[at_host]).all():
        raise InvalidArgument("weights must be finite and >= 0; the weight column has others")
    host_weights = np.zeros(hosts)
    host_weights[place[at_host]] = weight[at_host]
    exact = bool(hits[at_host].sum() == rows[at_host].sum())
    heavy = _heaviest(found["top"], 1 if exact else LEAST_HITS, top)
    hashes = heavy["hash"].to_numpy().view(np.uint64)
    labels = zip(hashes, heavy["label"].to_pylist(), strict=True)
    histogram = Histogram(
        hashes,
        heavy["weight"].to_numpy() / fraction,
        float(host_weights.sum()) / fraction,
        _distinct(keys[at_host].sum(), singles[at_host].sum(), sampled[at_host].sum(), exact),
        unit,
        {int(key): label for key, label in labels if label},
        host_weights / fraction,
    )
    # The histogram sorts equal weights by unsigned hash; bring the row counts into its order.
    counts = zip(hashes, heavy["rows"].to_numpy() / fraction, strict=True)
    rows_of = {int(key): count for key, count in counts}
    key_rows = np.array([rows_of[int(key)] for key in histogram.hashes], dtype=np.float64)
    total = float(rows[at_host].sum()) / fraction
    return Statistics(histogram, total, key_rows, spark_loads, exact and fraction == 1.0)


def _heaviest(lists: pa.ChunkedArray, least_hits: int, top: int) -> pa.Table:
    """Give the heaviest keys of all hosts, the heaviest first."""
    named = pa.Table.from_struct_array(pc.list_flatten(lists))
    met = named.filter(pc.greater_equal(named["hits"], least_hits))
    order = np.lexsort((met["hash"].to_numpy(), -met["weight"].to_numpy()))[:top]
    return met.take(order)


def _distinct(met: int, singles: int, sampled: int, exact: bool) -> int:
    """Give the number of keys: those met, or those of the key sample times its inverse share."""
    # Good and Turing: the share of keys met once tells how many were not met at all.
    return int(met if exact or singles < 0.05 * met else max(met, sampled * KEY_SAMPLE))
