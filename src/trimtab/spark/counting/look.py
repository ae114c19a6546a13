"""A look at the keys of a frame before its rows move: a sample, counted on the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trimtab._checks import whole
from trimtab._key_arrays import host_of
from trimtab.histogram import Histogram
from trimtab.spark.columns import hash_text, label_text, spare_names
from trimtab.spark.counting.counted import LABEL_LENGTH

ROWS_PER_LANE = 6_000
"""Rows that a look brings to the driver for each lane, where there are so many: planned from them,
a million Zipf rows come within about 5 % of level. A quarter of them would do for 10 %."""

MOST_ROWS = 1 << 19
"""Rows that a look asks for at most, however many lanes there are: 4 MB of hashes."""

LEAST_EACH = 256
"""Rows of each input partition that are all looked at: a partition may have keys of its own."""

LEAST_HITS = 8
"""A key of a thinned sample that was met less often is left to its host: it may well be light."""

NAMED_EACH = 64
"""Rows of each input partition that bring the name of their key along; of the rest, one in 32."""


@dataclass(frozen=True, eq=False)
class Looked:
    """What a look has shown.

    Attributes
    ----------
    histogram
        The keys: those met often enough one by one, all of them by host.
    sampled
        Rows that were looked at.
    exact
        Whether these were all rows; otherwise the figures are estimates.
    """

    histogram: Histogram
    sampled: int
    exact: bool


def look_at_keys(
    df: DataFrame,
    keys: Sequence[str],
    *,
    wanted: int,
    hosts: int,
    partitions: int | None = None,
    labels: bool = True,
    seed: int = 0,
) -> Looked:
    """Count a sample of a frame's keys, in one stage and without a shuffle.

    Of each input partition the first `each` rows are all taken, and the n-th row with a chance of
    `each / n`: some `each * (1 + ln(rows / each))` rows of it in all, and a small partition whole.
    Every row taken stands for the inverse of its chance, so that the weights are unbiased. A key
    with `n` of the rows taken is off by about `1 / sqrt(n)`.

    Parameters
    ----------
    df
        The frame.
    keys
        Its key columns as SQL text.
    wanted
        Rows that are looked at if there are so many, about: see `rows_wanted`.
    hosts
        Hosts to count by, 1 or more: as many as the planner will place.
    partitions
        Input partitions that are expected, which share what is wanted. By default nothing is known
        of them: the first may have all, the second half of it, the third a third and so on.
    labels
        Whether heavy keys get readable names.
    seed
        Chooses the rows.
    """
    whole("wanted", wanted, 1)
    whole("hosts", hosts, 1)
    place, dice = spare_names(df.columns, "place", "dice")
    # The upper bits are the partition's number, the lower ones the row's place in it.
    columns = [
        f"cast(monotonically_increasing_id() & {(1 << 33) - 1}L AS double) + 1D AS {place}",
        f"rand({seed}L) AS {dice}",
    ]
    if partitions is None:
        (each,) = spare_names([*df.columns, place, dice], "each")
        share = f"greatest({LEAST_EACH}D, {wanted}D / (spark_partition_id() + 1))"
        columns.append(f"{share} AS {each}")
    else:
        each = f"{max(LEAST_EACH, -(-wanted // max(1, partitions)))}D"
    taken = df.select("*", *map(F.expr, columns)).where(f"{dice} * {place} < {each}")
    shown = [f"{hash_text(keys)} AS hash", f"greatest(1D, {place} / {each}) AS stands_for"]
    if labels:
        label = f"substring({label_text(keys)}, 1, {LABEL_LENGTH})"
        shown.append(
            f"if({place} <= {NAMED_EACH} OR hash({place}) & 31 = 0, {label}, NULL) AS label"
        )
    return _read(taken.select(*map(F.expr, shown)).toArrow(), hosts)


def rows_wanted(lanes: int) -> int:
    """Return how many rows to look at, so that a plan for so many lanes is good.

    >>> rows_wanted(16), rows_wanted(1000)
    (96000, 524288)
    """
    return min(MOST_ROWS, lanes * ROWS_PER_LANE)


def _read(found: pa.Table, hosts: int) -> Looked:
    hashes = found["hash"].to_numpy().view(np.uint64)
    stands_for = found["stands_for"].to_numpy()
    exact = bool((stands_for == 1.0).all())
    unique, inverse, hits = np.unique(hashes, return_inverse=True, return_counts=True)
    weights = np.bincount(inverse, stands_for, unique.size).astype(np.float64)
    heavy = np.ones(unique.size, dtype=bool) if exact else hits >= LEAST_HITS
    histogram = Histogram(
        unique[heavy],
        weights[heavy],
        float(stands_for.sum()),
        _distinct(hits, weights, exact),
        "rows",
        _labels(found, unique[heavy]),
        np.bincount(host_of(hashes, hosts), stands_for, hosts).astype(np.float64),
    )
    return Looked(histogram, hashes.size, exact)


def _distinct(hits: NDArray[np.int64], weights: NDArray[np.float64], exact: bool) -> int:
    """Return the number of keys: those met, and by Good and Turing's estimate those that were not.

    Where a share `s` of the sample are keys met once, a share `s` of the rows has keys not met.
    """
    met = int(hits.size)
    if exact or not met:
        return met
    singles = int((hits == 1).sum())
    unmet_share = min(singles / float(hits.sum()), 1.0 - 1.0 / met)
    return min(int(met / (1.0 - unmet_share)), int(weights.sum()))


def _labels(found: pa.Table, known: NDArray[np.uint64]) -> dict[int, str]:
    """Return the names of the known keys that came along."""
    if "label" not in found.column_names:
        return {}
    named = found.filter(found["label"].is_valid())
    hashes = named["hash"].to_numpy().view(np.uint64)
    unique, first = np.unique(hashes, return_index=True)
    wanted = np.isin(unique, known)
    names = named["label"].take(pa.array(first[wanted])).to_pylist()
    return dict(zip(unique[wanted].tolist(), names, strict=True))
