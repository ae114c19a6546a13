"""What a batch shows of itself while it runs: one observation in the pass that is made anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkAssertionError
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from trimtab.histogram import Histogram
from trimtab.spark.columns import hash_text, label_text
from trimtab.spark.counting.counted import LABEL_LENGTH
from trimtab.spark.routing.compiled import unsigned_mod
from trimtab.spark.spark_text import plan_facts

SAMPLED_ROWS = 1 << 16
"""Rows per batch that sketches look at, at most about: a key with 1 % of the rows is then seen to
4 to 6 %."""

MOST_KEYS = 1024
"""Spark's `approx_top_k` gives no more items."""

TRACKED = 10_000
"""Items that `approx_top_k` tracks; keys with more than 1 in 3,750 sampled rows are found."""

HOTTEST = 64
"""Keys that are found where rows are not laid out."""

FILE_BYTES = 64
"""Bytes of a row in a file, where only the size of a batch is known. Columns of numbers take fewer,
lines of JSON some hundreds: sketches then look at more rows than needed, or at some thousands."""

LEAST_HITS = 8
"""A key of a thinned batch that was seen less often is left to its host: it may well be light."""

BUS_MILLISECONDS = 10_000
"""How long to wait for figures that are under way; they take some milliseconds."""


@dataclass(frozen=True)
class Watched:
    """What is watched of a batch, as SQL text over the columns of the frame."""

    key_hash: str
    label: str
    size: str
    kept: str | None = None
    lane: str | None = None
    in_groups: bool = False
    """Whether rows are counted later, by `Watch.on_groups`."""
    hottest_only: bool = False
    """Whether the hottest keys will do: rows are not laid out by what is seen."""


@dataclass(frozen=True, eq=False)
class Observed:
    """What was seen of a batch.

    Attributes
    ----------
    rows, late, unusable
        Rows of the batch, rows behind the watermark, rows without a usable event time.
    latest, first_pane, last_pane
        Latest event time, and first and last pane of the rows that were kept, in microseconds.
    histogram
        The keys; the heaviest by name.
    loads
        Rows that went to each lane, None if rows were not laid out.
    pairs
        Distinct (key, lane) pairs, None if not counted.
    row_bytes
        Mean size of a row.
    source
        Rows in each partition of the source that had any, about; None if not looked at.
    """

    rows: int
    late: int
    unusable: int
    latest: int | None
    first_pane: int | None
    last_pane: int | None
    histogram: Histogram
    loads: NDArray[np.float64] | None
    pairs: int | None
    row_bytes: float
    source: NDArray[np.float64] | None = None


class Watch:
    """An observation of one batch.

    Parameters
    ----------
    lanes
        Number of lanes.
    hosts
        Number of hosts by which keys are counted; 0 counts none.
    stride
        One row in so many, a power of two, is shown to the sketches.
    count_pairs
        Whether to count (key, lane) pairs: needed where only the rows can tell.
    """

    def __init__(self, lanes: int, hosts: int, stride: int, count_pairs: bool) -> None:
        self.lanes = lanes
        self.hosts = hosts
        self.stride = stride
        self.count_pairs = count_pairs
        self._observations: list[Observation] = []
        self._row_bytes = 0.0

    @property
    def sampled(self) -> str:
        """The column that must be in a frame before `on`, as SQL text; it follows from no other.

        The source's partition where the row is shown to the sketches, else null. What depends on a
        row's place may not stand in a sketch: it is a column first.
        """
        place = f"xxhash64(monotonically_increasing_id()) & {self.stride - 1}L"
        return f"if({place} = 0, spark_partition_id(), NULL) AS {_SAMPLED}"

    def on(self, df: DataFrame, watched: Watched) -> tuple[DataFrame, list[str]]:
        """Return the frame with the observation in it, and the columns of ours that it now has."""
        columns, metrics = self._metrics(watched)
        # Sketches evaluate what they are given step by step, projections as compiled code: all
        # that takes more than reading a column is a column by then.
        prepared = df.selectExpr("*", *(f"{text} AS {name}" for name, text in columns.items()))
        return self._observed_by(prepared, metrics), [_SAMPLED, *columns]

    def _observed_by(self, df: DataFrame, metrics: dict[str, str]) -> DataFrame:
        observation = Observation()
        self._observations.append(observation)
        # One column in place of many: each is a conversation with the Java process.
        named = ", ".join(f"{text} AS `{name}`" for name, text in metrics.items())
        return df.observe(observation, F.expr(f"struct({named}) AS {_FIGURES}"))

    def _metrics(self, watched: Watched) -> tuple[dict[str, str], dict[str, str]]:
        """Return further columns and, over them, the metrics, all as SQL text by name.

        Metrics are few: each takes its time of every row, plain counts and sums not least.
        """
        key, kept = watched.key_hash, watched.kept
        looked_at = f"{_SAMPLED} IS NOT NULL" + (f" AND {kept}" if kept is not None else "")
        label = f"substring({watched.label}, 1, {LABEL_LENGTH})"
        columns = {_ITEM: f"if({looked_at}, concat_ws(':', cast({key} AS string), {label}), NULL)"}
        found, tracked = (HOTTEST, 16 * HOTTEST) if watched.hottest_only else (MOST_KEYS, TRACKED)
        metrics = {"keys": _top(_ITEM, found, tracked)}
        if kept is None:
            metrics["source"] = _top(_SAMPLED, MOST_KEYS, 2 * MOST_KEYS)
        else:
            columns[_SOURCE] = f"if({looked_at}, {_SAMPLED}, NULL)"
            metrics["source"] = _top(_SOURCE, MOST_KEYS, 2 * MOST_KEYS)
        if not watched.in_groups:
            metrics |= {"rows": "count(1)", "distinct": f"approx_count_distinct({key}, 0.02D)"}
        if watched.size.isdigit():
            self._row_bytes = float(watched.size)
        else:
            columns[_SIZE] = f"if({looked_at}, {watched.size}, NULL)"
            metrics["bytes"] = f"sum({_SIZE})"
        if self.hosts and not watched.hottest_only:
            columns[_HOST] = f"if({looked_at}, cast({unsigned_mod(key, self.hosts)} AS int), NULL)"
            metrics["hosts"] = _top(_HOST, self.hosts, 2 * self.hosts)
        if watched.lane is not None:
            lane = f"cast({watched.lane} AS double)"
            columns[_LANE] = lane if kept is None else f"if({kept}, {lane}, NULL)"
            # As many bins as lanes: every bin is one lane, and its height its exact count.
            metrics["loads"] = f"histogram_numeric({_LANE}, {max(2, self.lanes)})"
            if self.count_pairs:
                pair = f"xxhash64({key}, {watched.lane})"
                columns[_PAIR] = pair if kept is None else f"if({kept}, {pair}, NULL)"
                metrics["pairs"] = f"approx_count_distinct({_PAIR}, 0.02D)"
        return columns, metrics

    def on_groups(
        self, panes: DataFrame, key_texts: Sequence[str], heavy_from: int | None = None
    ) -> DataFrame:
        """Return rows that were combined by key and pane, with an observation of the rows.

        There are fewer of them than rows. `n` is the number of rows, `usable` of those with an
        event time, `latest` the latest time; rows that were not kept have no pane. `heavy_from` is
        the number of rows from which on a key in a pane is named, where `on` was left out: exactly,
        and without a look at every row.
        """
        key_hash = hash_text(key_texts)
        metrics = {
            "rows": "sum(n)",
            "kept": "sum(if(pane IS NULL, 0L, n))",
            "usable": "sum(usable)",
            "latest": "max(latest)",
            "first_pane": "min(pane)",
            "last_pane": "max(pane)",
            "distinct": f"approx_count_distinct(if(pane IS NULL, NULL, {key_hash}), 0.02D)",
        }
        if heavy_from is not None:
            label = f"substring({label_text(key_texts)}, 1, {LABEL_LENGTH})"
            named = f"named_struct('n', n, 'hash', {key_hash}, 'label', {label})"
            hot = f"pane IS NOT NULL AND n >= {heavy_from}"
            # Bounded in every task and on the driver, however many keys pass: a backlog may follow
            # a quiet batch.
            metrics["heavy"] = f"max_by(if({hot}, {named}, NULL), if({hot}, n, NULL), {MOST_KEYS})"
        return self._observed_by(panes, metrics).drop("usable", "latest")

    def read(self) -> Observed:
        """Return what was seen; an action must have run."""
        try:
            rows = [seen.get[_FIGURES] for seen in self._observations]
            found = {name: value for row in rows for name, value in row.asDict().items()}
        except (Py4JError, PySparkAssertionError, KeyError):
            # An empty batch: Spark left the observation out of the plan together with the rest.
            # Classic says so, and Connect gives an observation without figures.
            found = {}
        return self._observed(found)

    def read_if_used(self) -> Observed | None:
        """Return what was seen; None if no action has used the rows.

        Spark's own `get` would wait for ever then.
        """
        return self.read() if all(map(has_arrived, self._observations)) else None

    def _observed(self, seen: dict[str, Any]) -> Observed:
        rows = seen.get("rows") or 0
        kept = seen.get("kept", rows) or 0
        usable = seen.get("usable", rows) or 0
        source = [float(count) for _, count in _items(seen.get("source"))]
        sampled = sum(source)
        keys = seen.get("keys")
        if "heavy" in seen:
            keys = _summed(seen["heavy"] or [])
        factor = kept / sampled if sampled else 1.0
        hosts = None
        if "hosts" in seen and sampled:
            hosts = np.zeros(self.hosts)
            for host, count in _items(seen.get("hosts")):
                hosts[host] = count * factor
        loads = None
        if "loads" in seen:
            loads = np.zeros(self.lanes)
            for bin_ in seen.get("loads") or []:
                loads[round(bin_["x"])] += bin_["y"]
        return Observed(
            rows=rows,
            late=usable - kept,
            unusable=rows - usable,
            latest=seen.get("latest"),
            first_pane=seen.get("first_pane"),
            last_pane=seen.get("last_pane"),
            histogram=_histogram(keys, factor, kept, seen.get("distinct") or 0, hosts),
            loads=loads,
            pairs=seen.get("pairs"),
            row_bytes=seen["bytes"] / sampled if seen.get("bytes") else self._row_bytes,
            source=np.array(source) if "source" in seen else None,
        )


def has_arrived(observation: Observation, *, wait: bool = True) -> bool:
    """Tell whether the figures of an observation are there; with `wait`, after those under way."""
    if not hasattr(observation, "_jo"):  # Connect: they come with the result of the action
        return getattr(observation, "_result", None) is not None
    if observation._jo is None:
        return False
    # They travel on Spark's bus of events, behind those of the action that made them.
    context = SparkContext._active_spark_context
    if wait and context is not None and not observation._jo.future().isCompleted():
        context._jsc.sc().listenerBus().waitUntilEmpty(BUS_MILLISECONDS)
    return bool(observation._jo.future().isCompleted())


RESERVED = "__trimtab_seen_"
"""How the columns that are only watched begin; no column of a user may."""

_FIGURES = "figures"
"""The one column of an observation, a struct of all figures."""

_SAMPLED, _ITEM, _SOURCE, _SIZE, _HOST, _LANE, _PAIR = (
    f"{RESERVED}{word}" for word in ("sampled", "item", "source", "size", "host", "lane", "pair")
)


def stride_for(rows: int) -> int:
    """Return the stride that shows about `SAMPLED_ROWS` of a batch like the last."""
    return 1 << (rows // SAMPLED_ROWS).bit_length()


def rows_foretold(df: DataFrame) -> int:
    """Return how many rows a batch may have, by the size of its files; 0 if that is not known.

    For the first batch of a query, which no batch before tells of, and which may be all that has
    gathered in days: sketches of all its rows would take longer than the rest.
    """
    facts = plan_facts(df)
    if not facts.quick or facts.bytes is None:
        return 0  # joins, for one, are taken for as large as the product of their sides
    return int(facts.bytes / FILE_BYTES)


def _top(column: str, k: int, tracked: int) -> str:
    # One more than asked for: nulls, which stand for rows that are not looked at, are an item too.
    most = min(k + 1, MOST_KEYS)
    return f"approx_top_k({column}, {most}, {max(most, tracked)})"


def _items(found: list[Any] | None) -> list[tuple[Any, int]]:
    return [(row["item"], row["count"]) for row in found or [] if row["item"] is not None]


def _summed(heavy: list[Any]) -> list[dict[str, Any]]:
    """Add up what a key has in several panes, in the form that `approx_top_k` gives."""
    counts: dict[str, int] = {}
    for row in heavy:
        name = f"{row['hash']}:{row['label']}"
        counts[name] = counts.get(name, 0) + row["n"]
    return [{"item": name, "count": count} for name, count in counts.items()]


def _histogram(
    found: list[Any] | None,
    factor: float,
    total: int,
    distinct: int,
    hosts: NDArray[np.float64] | None,
) -> Histogram:
    counts: dict[int, int] = {}
    labels: dict[int, str] = {}
    for name, count in _items(found):
        text, _, label = name.partition(":")
        key = int(text) % (1 << 64)
        # Several names can have one hash: zeros of both signs, an empty list and none.
        counts[key] = counts.get(key, 0) + count
        if label:
            labels.setdefault(key, label)
    met = {key: n for key, n in counts.items() if factor <= 1.0 or n >= LEAST_HITS}
    return Histogram(
        np.array(list(met), dtype=np.uint64),
        np.array(list(met.values())) * factor,
        float(total),
        distinct,
        "rows",
        {key: label for key, label in labels.items() if key in met},
        host_weights=hosts,
    )
