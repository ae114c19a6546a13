"""Seeing the skew: which keys of a frame are hot, what that costs, and what would help."""

from __future__ import annotations

from typing import overload

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab._checks import lane_count, one_of, whole
from trimtab.control.advisor import Advisor
from trimtab.control.cost_model import Operator
from trimtab.errors import InvalidArgument
from trimtab.histogram import NAMES
from trimtab.planners import planner
from trimtab.spark.batch.decision import default_lanes
from trimtab.spark.batch.run_report import RunReport, report_run
from trimtab.spark.batch.skew_report import KeyWeight, SkewReport
from trimtab.spark.columns import KeyColumns, Keys, key_columns, quoted
from trimtab.spark.counting.counted import LABEL_LENGTH, CountedKeys, count_frame, count_rows
from trimtab.spark.counting.heads import head_rows, heads_with
from trimtab.spark.spark_text import plan_facts

HOSTS_PER_LANE = 128
"""As fine as the advisor counts, up to `MOST_HOSTS` in all."""

MOST_HOSTS = 1 << 16

MUCH = 8
"""How many times as many rows as are looked at a frame must have, to make do with an estimate."""

KNOWN_KEYS = 4096
"""Heaviest keys that predictions rest on; the rest is known by host."""


@overload
def profile(df: DataFrame, *, names: str = "plain") -> RunReport: ...


@overload
def profile(
    df: DataFrame,
    key: Keys,
    lanes: int | None = None,
    weight: str | Column | None = None,
    *,
    unit: str = "rows",
    sample: float | None = None,
    top: int = 20,
    operator: Operator | None = None,
    names: str = "plain",
    seed: int = 0,
) -> SkewReport: ...


def profile(
    df: DataFrame,
    key: Keys | None = None,
    lanes: int | None = None,
    weight: str | Column | None = None,
    *,
    unit: str = "rows",
    sample: float | None = None,
    top: int = 20,
    operator: Operator | None = None,
    names: str = "plain",
    seed: int = 0,
) -> SkewReport | RunReport:
    """Report how the keys of `df` would load `lanes` partitions, from one pass over it.

    Of a frame that is large, and of which Spark knows the number of rows, as of a cached one, the
    first rows of every input partition are enough if they are alike; see `repartition`. The figures
    are estimates then, and `distinct` is Chao's: right where rare keys are about equally rare, and
    else too low.

    Without a key it reads nothing, and tells of a run: given what `group_by(...).applyInPandas` has
    returned, once an action has used it, it reports how long each lane took, on which executor, how
    fast these are, and why the slowest lanes were slow.

    Parameters
    ----------
    df
        The frame. It is read once at most, up to the key and weight columns.
    key
        Key column or columns, by name or as expressions.
    lanes
        Number of partitions to look at; by default as many as there are task slots, and more
        where the frame has more than 128 MB for each.
    weight
        Column that says what a row weighs, >= 0; by default every row weighs the same.
    unit
        What a weight is: "rows", "bytes" or "seconds". "bytes" without a weight column takes
        the size of the row.
    sample
        Share of the rows to look at, in (0, 1]; for tables so large that one pass is too long.
        Lower is quicker and less exact; with 1 the pass is over all rows in any case.
    top
        Number of hottest keys to name, 0 or more.
    operator
        What the advisor should think of; by default a function of a whole group.
    names
        Whether the report, its histogram and its pictures name hot keys as they are, or by their
        "hash": keys can be personal data, and then their names do not even reach the driver.
    seed
        Chooses the rows that stand for others in large frames.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
    >>> report = tt.profile(clicks, "user", lanes=4)
    >>> report.hottest[0].key, report.hottest[0].share
    ('ann', 0.6)
    >>> round(report.max_over_mean, 2), round(report.best_whole_ratio, 2), report.advice.recommended
    (2.8, 2.4, 'kip')

    >>> found = tt.group_by(clicks, "user", lanes=4).applyInPandas(lambda rows: rows, "user string")
    >>> found.count()
    100
    >>> run = tt.profile(found)
    >>> run.times.rows.sum(), list(run.slowness.values())
    (np.float64(100.0), [1.0])
    """
    if key is None:
        return report_run(df, one_of("names", names, NAMES))
    keys = key_columns(df, key)
    count = default_lanes(df) if lanes is None else lane_count(lanes)
    whole("top", top, 0)
    one_of("names", names, NAMES)
    weigh = None
    if weight is not None:
        weigh = F.col(quoted(weight)) if isinstance(weight, str) else weight
        # Raises on a column that is not there, with Spark's message made ours.
        kind = key_columns(df, weight).fields[0].dataType
        if not isinstance(kind, T.NumericType):
            raise InvalidArgument(
                f"weight must be a column of numbers, 0 or more; got {weight!r} of type "
                f"{kind.simpleString()}: cast it, or leave it out to count rows"
            )
    labels = names == "plain"
    hosts, known_keys = min(HOSTS_PER_LANE * count, MOST_HOSTS), max(KNOWN_KEYS, top)
    found = None
    if weigh is None and sample is None and unit == "rows":
        found = _from_heads(df, keys, count, hosts, known_keys, labels)
    if found is None:
        found = count_frame(
            df,
            keys,
            hosts=hosts,
            top=known_keys,
            weight=weigh,
            unit=unit,
            labels=labels,
            spark_lanes=count,
            sample=sample,
            seed=seed,
        )
    known = found.histogram
    assert found.spark_loads is not None
    # Spark's hash is another one than ours: the advice compares with what Spark really does.
    advisor = Advisor(operator or Operator(), lanes=count, seed=seed)
    advice = advisor.advise(known, found.spark_loads)
    hottest = tuple(
        KeyWeight(
            known.label(int(known.hashes[i])),
            int(known.hashes[i]),
            float(found.key_rows[i]),
            float(known.weights[i]),
            float(known.shares[i]),
        )
        for i in range(min(top, len(known)))
    )
    return SkewReport(
        tuple(keys.names), count, found.rows, known, found.spark_loads, hottest, advice, found.exact
    )


def _from_heads(
    df: DataFrame, key: KeyColumns, lanes: int, hosts: int, top: int, labels: bool
) -> CountedKeys | None:
    """Count the first rows of every partition of a large frame; None if that is not enough."""
    wanted = head_rows(lanes)
    facts = plan_facts(df)
    if facts.rows is None or facts.rows <= MUCH * wanted:
        return None
    more = {"spark_lane": F.pmod(F.hash(*key.columns), F.lit(lanes))}
    if labels:
        more["label"] = F.substring(key.label, 1, LABEL_LENGTH)
    found = heads_with(df, key.hash, wanted, more)
    if found is None:
        return None
    heads, rows = found
    if heads.whole or not heads.are_alike(planner("trim", lanes=lanes), top, hosts):
        return None
    return count_rows(rows, heads.rows, hosts=hosts, top=top, spark_lanes=lanes)
