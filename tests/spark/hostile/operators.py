"""Every operator on frames beside Spark's own, on one hostile case."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from tests.spark.frames import session_setting
from tests.spark.hostile.cases import Case, texts
from trimtab.errors import TrimtabError
from trimtab.spark import group_by, join, profile, repartition, write_balanced
from trimtab.spark.columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LANES = 5

Operator = Callable[[Case, Path], tuple[Callable[[], Any], Callable[[], Any]]]
"""Takes a case and a directory; returns our way and Spark's way to one result."""

OPERATORS: dict[str, Operator] = {}


class Differs(AssertionError):
    """Our result is not Spark's; the text says of which operator and case."""


def operator(made: Operator) -> Operator:
    OPERATORS[made.__name__] = made
    return made


def check(name: str, case: Case, place: Path) -> str:
    """Compare an operator's result with Spark's; return "equal", or "refused" if Spark refuses.

    Where Spark cannot do it, as it cannot give pandas the year 9999, we need not either; but we
    must not give a result.
    """
    place.mkdir(parents=True, exist_ok=True)
    with session_setting(case.df.sparkSession, "spark.sql.session.timeZone", case.zone):
        ours, theirs = OPERATORS[name](case, place)
        expected, refusal = _tried(theirs)
        found, complaint = _tried(ours)
    if refusal is not None:
        if complaint is None:
            raise Differs(f"{name}: {case.line}: Spark refuses ({refusal}), we do not")
        return "refused"
    if complaint is not None:
        raise Differs(f"{name}: {case.line}: Spark has a result, we say: {complaint}")
    if found != expected:
        raise Differs(f"{name}: {case.line}: {_difference(found, expected)}")
    return "equal"


def _tried(work: Callable[[], Any]) -> tuple[Any, str | None]:
    try:
        found = work()
        return found if not hasattr(found, "collect") else texts(found), None
    except (PySparkException, Py4JError, TrimtabError, ValueError, OverflowError) as error:
        return None, f"{type(error).__name__}: {_last_cause(str(error))}"


def _last_cause(text: str) -> str:
    """Return the lines of an error that say what happened, not where."""
    lines = [line for line in text.splitlines() if line.strip() and "\tat " not in line]
    causes = [line for line in lines if re.match(r"Caused by|\S*(Error|Exception|errors\.)", line)]
    return " | ".join([*lines[:1], *causes[-2:]])[:1500]


def _difference(found: Any, expected: Any) -> str:
    if hasattr(found, "total"):
        missing, extra = expected - found, found - expected
        return f"missing {list(missing)[:3]}, unexpected {list(extra)[:3]}"
    return f"{found} instead of {expected}"


@operator
def layout(case: Case, place: Path) -> Any:
    def ours() -> Any:
        placed = repartition(case.df, LANES, list(case.keys))
        at = placed.select(*case.key_columns(), F.spark_partition_id().alias("partition of ours"))
        spread = at.groupBy(*case.key_columns()).agg(F.countDistinct("partition of ours"))
        widest = max((row[-1] for row in spread.collect()), default=1)
        return texts(placed), widest

    return ours, lambda: (texts(case.df), 1)


def _aggregates(case: Case) -> list[Any]:
    number, time = F.col(quoted(case.number)), F.col(quoted(case.time))
    return [
        F.count("*").alias("n"),
        F.sum(number).alias("s"),
        F.max(time).alias("t"),
        F.sort_array(F.collect_list(number)).alias("l"),
    ]


def _aggregated(partitioner: str) -> Operator:
    def made(case: Case, place: Path) -> Any:
        def ours() -> Any:
            grouped = group_by(case.df, *case.keys, lanes=LANES, partitioner=partitioner)
            return grouped.agg(*_aggregates(case))

        return ours, lambda: case.df.groupBy(*case.key_columns()).agg(*_aggregates(case))

    return made


OPERATORS["agg by trim"] = _aggregated("trim")
OPERATORS["agg by prompt"] = _aggregated("prompt")
OPERATORS["agg by pkg"] = _aggregated("pkg")


@operator
def groups_in_pandas(case: Case, place: Path) -> Any:
    number = case.number

    def first(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.nsmallest(1, number)

    schema = case.df.schema
    return (
        lambda: group_by(case.df, *case.keys, lanes=LANES).applyInPandas(first, schema),
        lambda: case.df.groupBy(*case.key_columns()).applyInPandas(first, schema),
    )


@operator
def groups_in_arrow(case: Case, place: Path) -> Any:
    number = len(case.keys)

    def sizes(rows: pa.Table) -> pa.Table:
        ids = rows.column(number).to_numpy()
        return pa.table({"n": [len(ids)], "s": [int(ids.sum())], "least": [int(ids.min())]})

    schema = "n long, s long, least long"
    return (
        lambda: group_by(case.df, *case.keys, lanes=LANES).applyInArrow(sizes, schema),
        lambda: case.df.groupBy(*case.key_columns()).applyInArrow(sizes, schema),
    )


def _other(case: Case) -> DataFrame:
    """Return a second frame with some of the same keys."""
    number = F.col(quoted(case.number))
    # Named anew, or Spark takes both sides for one.
    keys = [column.alias(name) for column, name in zip(case.key_columns(), case.keys, strict=True)]
    return case.df.where(number % 3 == 0).select(*keys, number.alias("y")).where("y < 900")


@operator
def cogroups(case: Case, place: Path) -> Any:
    number = case.number

    def sizes(one: pd.DataFrame, two: pd.DataFrame) -> pd.DataFrame:
        ids = [one[number].sum(), two["y"].sum()]
        return pd.DataFrame([[len(one), len(two), *map(int, ids)]])

    schema = "a long, b long, c long, d long"
    plain = case.df.select(*case.key_columns(), F.col(quoted(number)))
    other = _other(case)

    def ours() -> Any:
        sides = [group_by(side, *case.keys, lanes=LANES) for side in (plain, other)]
        return sides[0].cogroup(sides[1]).applyInPandas(sizes, schema)

    def theirs() -> Any:
        sides = [side.groupBy(*case.key_columns()) for side in (plain, other)]
        return sides[0].cogroup(sides[1]).applyInPandas(sizes, schema)

    return ours, theirs


def _joined(how: str) -> Operator:
    def made(case: Case, place: Path) -> Any:
        # Few rows of a hot key on both sides make many pairs.
        one = case.df.where(F.col(quoted(case.number)) < 300)
        two = _other(case).where("y < 300")
        # Spark would read a dot in a name as a path: its own call gets plain names.
        plain = [f"k{i}" for i in range(len(case.keys))]
        rest = [name for name in one.columns if name not in case.keys]
        left = one.toDF(*plain, *rest)
        right = two.toDF(*plain, "y")
        return (
            lambda: join(one, two, list(case.keys), how, lanes=LANES, level_enough=1.0),
            lambda: left.join(right, plain, how),
        )

    return made


for _kind in ("inner", "left", "right", "full", "semi", "anti"):
    OPERATORS[f"{_kind} join"] = _joined(_kind)


def _fits_directory(column: str, kind: str) -> str:
    """Tell, as SQL text, whether Spark can name a directory by a value and by no other value."""
    text = f"cast({column} AS string)"
    fits = f"octet_length({text}) BETWEEN 1 AND 80 AND position(char(0), {text}) = 0"
    fits += f" AND {text} <> '__HIVE_DEFAULT_PARTITION__'"
    if kind in ("float", "double"):
        return f"{fits} AND {column} <> 0"
    if kind == "timestamp":
        # The hour that Berlin's clock shows twice.
        return f"{fits} AND {column} <> timestamp'2024-10-27 01:30:00Z'"
    return fits


@operator
def written(case: Case, place: Path) -> Any:
    df = case.df
    for name, kind in zip(case.keys, case.kinds, strict=True):
        df = df.where(f"{quoted(name)} IS NULL OR ({_fits_directory(quoted(name), kind)})")
    columns = [F.col(quoted(name)) for name in df.columns]

    def read(path: Path) -> Any:
        return df.sparkSession.read.schema(df.schema).parquet(str(path)).select(*columns)

    def ours() -> Any:
        write_balanced(df, str(place / "ours"), list(case.keys), lanes=LANES, mode="overwrite")
        return read(place / "ours")

    def theirs() -> Any:
        df.write.mode("overwrite").partitionBy(*case.keys).parquet(str(place / "theirs"))
        return read(place / "theirs")

    return ours, theirs


@operator
def profiled(case: Case, place: Path) -> Any:
    def ours() -> Any:
        found = profile(case.df, list(case.keys), lanes=3)
        assert str(found)
        return found.rows, found.histogram.distinct, found.histogram.weights.tolist()[:4000]

    def theirs() -> Any:
        # A null adds nothing to a hash: (null, 1) and (1, null) are one key here.
        hashed = F.xxhash64(*case.key_columns())
        found = case.df.groupBy(hashed).agg(F.count("*").alias("n")).select("n")
        counts = sorted((float(row[0]) for row in found.collect()), reverse=True)
        return sum(counts), len(counts), counts[:4000]

    return ours, theirs
