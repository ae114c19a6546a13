"""The report of a frame's skew: text, HTML, a dictionary, a pandas frame, a picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.control.advisor import Advice
from trimtab.histogram import Histogram
from trimtab.metrics import coefficient_of_variation, lower_bound, max_over_mean


@dataclass(frozen=True)
class KeyWeight:
    """One hot key: its name, its hash, its rows, its weight and its share of all weight.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
    >>> report = tt.profile(clicks, "user", lanes=4, top=1)
    >>> hot = report.hottest[0]
    >>> hot.key, hot.hash, hot.rows, hot.share
    ('ann', 7160020621161744715, 60.0, 0.6)
    """

    key: str
    hash: int
    rows: float
    weight: float
    share: float


@dataclass(frozen=True, eq=False)
class SkewReport:
    """Who is hot, what it costs, what would help.

    Attributes
    ----------
    key
        Names of the key columns.
    lanes
        Number of partitions looked at.
    rows
        Number of rows.
    histogram
        All that was counted; planners take it.
    spark_loads
        Weight of each partition under Spark's own hash.
    hottest
        The heaviest keys, the heaviest first.
    advice
        What each partitioner would give, and which one is recommended, for a function of a group.
    exact
        Whether every row was counted; otherwise the figures are estimates.
    """

    key: tuple[str, ...]
    lanes: int
    rows: float
    histogram: Histogram
    spark_loads: NDArray[np.float64]
    hottest: tuple[KeyWeight, ...]
    advice: Advice
    exact: bool

    @property
    def max_over_mean(self) -> float:
        """Heaviest partition over the mean, under Spark's hash; 1 is level."""
        return max_over_mean(self.spark_loads)

    @property
    def coefficient_of_variation(self) -> float:
        """Standard deviation of the partitions' weights over their mean."""
        return coefficient_of_variation(self.spark_loads)

    @property
    def lower_bound(self) -> float:
        """Least weight that the heaviest partition can have while keys stay whole."""
        return lower_bound(self.histogram.weights, self.lanes, total=self.histogram.total)

    @property
    def best_whole_ratio(self) -> float:
        """`lower_bound` over the mean: what max/mean can come to while keys stay whole."""
        mean = self.histogram.total / self.lanes
        return self.lower_bound / mean if mean > 0 else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it; hashes are decimal strings.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
        >>> report = tt.profile(clicks, "user", lanes=4, top=1)
        >>> found = report.to_dict()
        >>> found["rows"], found["distinct"], found["hottest"][0]["key"]
        (100.0, 41, 'ann')
        """
        return {
            "key": list(self.key),
            "lanes": self.lanes,
            "rows": self.rows,
            "total": self.histogram.total,
            "unit": self.histogram.unit,
            "distinct": self.histogram.distinct,
            "exact": self.exact,
            "spark_loads": self.spark_loads.tolist(),
            "max_over_mean": self.max_over_mean,
            "coefficient_of_variation": self.coefficient_of_variation,
            "lower_bound": self.lower_bound,
            "hottest": [{**asdict(hot), "hash": str(hot.hash)} for hot in self.hottest],
            "advice": self.advice.to_dict(),
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the hottest keys as a frame: key, hash, rows, weight, share.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
        >>> report = tt.profile(clicks, "user", lanes=4, top=1)
        >>> report.to_pandas()[["key", "rows", "share"]]
           key  rows  share
        0  ann  60.0    0.6
        """
        columns = ["key", "hash", "rows", "weight", "share"]
        frame = pd.DataFrame([asdict(hot) for hot in self.hottest], columns=columns)
        return frame.astype({"hash": "uint64"})

    def _facts(self) -> list[tuple[str, str]]:
        about = "" if self.exact else "about "
        unit = self.histogram.unit
        weight = [] if unit == "rows" else [("weight", f"{self.histogram.total:,.6g} {unit}")]
        return [
            ("rows", f"{about}{self.rows:,.0f}"),
            *weight,
            ("distinct keys", f"{about}{self.histogram.distinct:,}"),
            (
                "max/mean by Spark's hash",
                f"{self.max_over_mean:.3f} (Murmur3, as repartition has it)",
            ),
            ("coefficient of variation", f"{self.coefficient_of_variation:.3f}"),
            ("best max/mean with whole keys", f"{self.best_whole_ratio:.3f}"),
            ("recommended", f"{self.advice.recommended}: {self.advice.reason}"),
        ]

    def _partitioners(self, most: int) -> list[tuple[str, str, str, str]]:
        rows = [row for row in self.advice.table if row.allowed][:most]
        return [
            (row.name, f"{row.max_over_mean:.3f}", f"{row.replication:.3f}", row.note)
            for row in rows
        ]

    def text(self, most: int = 10) -> str:
        """Return the report as plain text, with the `most` hottest keys and best partitioners.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
        >>> report = tt.profile(clicks, "user", lanes=4, top=1)
        >>> print(report.text(most=1))
        skew of user on 4 lanes
          rows                          100
          distinct keys                 41
          max/mean by Spark's hash      2.800
          ...
        hottest keys
          ann   60.00%               60 rows
        ...
        """
        title = f"skew of {', '.join(self.key)} on {self.lanes} lanes"
        lines = [title, *(f"  {name:<30}{value}" for name, value in self._facts())]
        if self.hottest:
            width = min(40, max(len(hot.key) for hot in self.hottest[:most]))
            lines.append("hottest keys")
            lines.extend(
                f"  {hot.key[:40]:<{width}}  {hot.share:>7.2%}  {hot.rows:>15,.0f} rows"
                for hot in self.hottest[:most]
            )
        rows = self._partitioners(most)
        if rows:
            lines.append("partitioners that keep keys as the operator needs them, best first")
            lines.append(f"  {'name':<12}{'max/mean':>9}{'replication':>13}")
            lines.extend(
                f"  {name:<12}{level:>9}{copies:>13}  {note}".rstrip()
                for name, level, copies, note in rows
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title = escape(f"Skew of {', '.join(self.key)} on {self.lanes} lanes")
        keys = [(hot.key, f"{hot.share:.2%}", f"{hot.rows:,.0f}") for hot in self.hottest[:10]]
        return (
            f"<h3>{title}</h3>"
            + _table(None, self._facts())
            + _table(("hottest key", "share", "rows"), keys)
            + _table(("partitioner", "max/mean", "replication", "note"), self._partitioners(10))
        )

    def picture(self) -> Any:
        """Draw the partitions' loads and the hottest keys; gives a matplotlib figure.

        The figure belongs to no window: show it in a notebook, or call its `savefig`.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
        >>> report = tt.profile(clicks, "user", lanes=4, top=1)
        >>> report.picture().savefig(tmp + "/skew.png")
        """
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.4), layout="constrained")
        lanes, keys = figure.subplots(1, 2)
        loads = np.sort(self.spark_loads)[::-1]
        lanes.bar(np.arange(loads.size), loads, width=0.9, color="#4c72b0")
        lanes.axhline(loads.mean(), color="#333333", linewidth=1, label="mean")
        lanes.axhline(
            self.lower_bound, color="#c44e52", linewidth=1, linestyle="--", label="lower bound"
        )
        lanes.set(
            title=f"Spark's hash: max/mean {self.max_over_mean:.2f}",
            xlabel="partitions, heaviest first",
            ylabel=self.histogram.unit,
        )
        lanes.legend(frameon=False)
        shown = self.hottest[:10][::-1]
        names = [hot.key if len(hot.key) <= 24 else hot.key[:23] + "…" for hot in shown]
        # Names may repeat once they are cut: bars stand at numbers, names are only their labels.
        keys.barh(np.arange(len(shown)), [hot.share * 100 for hot in shown], color="#dd8452")
        keys.set_yticks(np.arange(len(shown)), names)
        keys.axvline(100 / self.lanes, color="#333333", linewidth=1)
        keys.set(title="hottest keys; line: one lane", xlabel=f"% of {self.histogram.unit}")
        return figure


def _table(head: tuple[str, ...] | None, rows: list[Any]) -> str:
    if not rows:
        return ""
    cells = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    top = "" if head is None else "<tr>" + "".join(f"<th>{escape(h)}</th>" for h in head) + "</tr>"
    return f"<table>{top}{cells}</table>"
