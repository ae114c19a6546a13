"""The keys of a micro-batch counted exactly, in a pass of its own before the batch runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trimtab.histogram import Histogram
from trimtab.spark.columns import hash_text, label_text
from trimtab.spark.counting.counted import LABEL_LENGTH
from trimtab.spark.routing.compiled import unsigned_mod
from trimtab.spark.session_facts import has_bounded_max_by


def most_of_host(top: int, hosts: int) -> int:
    """Return how many of a host's keys to bring to the driver, so that it sees the `top` of all.

    Keys fall on hosts by their hash. More than this many of the heaviest keys on one host are less
    likely than 10^-12, and then the lightest of them are missed. The driver gets `hosts` times as
    many at most, whatever the number of keys.

    >>> most_of_host(1000, 16), most_of_host(1000, 10_000)
    (154, 16)
    """
    mean = top / hosts
    return min(top, math.ceil(mean + 10 * math.sqrt(mean) + 12))


def count_keys(
    df: DataFrame, keys: Sequence[str], hosts: int, top: int, *, labels: bool = True
) -> Histogram:
    """Count the keys of a batch exactly, in a pass of its own: the heaviest, and all by host.

    `keys` are the key columns as SQL text; `labels` says whether heavy keys get readable names.
    """
    label = f"substring({label_text(keys)}, 1, {LABEL_LENGTH})" if labels else "''"
    named = f"first({label})"
    of_host = most_of_host(top, hosts)
    heaviest = f"slice(sort_array(collect_list(struct(rows, hash, label)), false), 1, {of_host})"
    if has_bounded_max_by(df.sparkSession):
        heaviest = f"max_by(struct(rows, hash, label), struct(rows, hash), {of_host})"
    by_host = (
        df.groupBy(F.expr(f"{hash_text(keys)} AS hash"))
        .agg(F.expr("count(1) AS rows"), F.expr(f"{named} AS label"))
        .groupBy(F.expr(f"cast({unsigned_mod('hash', hosts)} AS int) AS host"))
        .agg(
            F.expr("sum(rows) AS rows"),
            F.expr("count(1) AS keys"),
            F.expr(f"{heaviest} AS top"),
        )
        .toArrow()
    )
    keys_met = by_host["top"].combine_chunks().flatten()
    rows, hashes = (keys_met.field(name).to_numpy() for name in ("rows", "hash"))
    heavy = np.argsort(-rows, kind="stable")[:top]
    heavy_hashes = hashes[heavy].view(np.uint64)
    names = keys_met.field("label").take(pa.array(heavy)).to_pylist() if labels else []
    weights = np.bincount(by_host["host"].to_numpy(), by_host["rows"].to_numpy(), hosts)
    return Histogram(
        heavy_hashes,
        rows[heavy].astype(np.float64),
        float(weights.sum()),
        int(by_host["keys"].to_numpy().sum()),
        "rows",
        dict(zip(heavy_hashes.tolist(), names, strict=False)),
        host_weights=weights.astype(np.float64),
    )
