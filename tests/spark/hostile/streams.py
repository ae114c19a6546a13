"""Every operation on streams beside Spark's own result for the same rows, on one hostile case."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import functions as F

from tests.spark.hostile.cases import Case
from tests.spark.hostile.operators import operator
from tests.spark.stream.inputs import NOW
from trimtab.spark import Stream, stream
from trimtab.spark.columns import quoted

LANES = 3


def _source(case: Case, place: Path) -> Path:
    """Write the rows of a case where a stream finds them, in one batch, once per case."""
    where = place / "rows"
    if not where.exists():
        case.df.coalesce(2).write.parquet(str(where))
    return where


def _begun(case: Case, place: Path, name: str, partitioner: str) -> Stream:
    frame = case.df.sparkSession.readStream.schema(case.df.schema).parquet(
        str(_source(case, place))
    )
    checkpoint = str(place / f"checkpoint-{name}")
    return stream(frame, list(case.keys), LANES, partitioner, checkpoint)


@operator
def stream_of_batches(case: Case, place: Path) -> Any:
    kept = place / "kept"

    def ours() -> Any:
        made = _begun(case, place, "batches", "pkg").for_each_batch(
            lambda rows, batch: rows.write.mode("overwrite").parquet(str(kept))
        )
        made.start(trigger=NOW).awaitTermination()
        reader = case.df.sparkSession.read.schema(case.df.schema)
        return reader.parquet(str(kept if kept.exists() else _source(case, place)))

    return ours, lambda: case.df


@operator
def stream_of_groups(case: Case, place: Path) -> Any:
    number = case.number

    def first(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.nsmallest(1, number)

    def ours() -> Any:
        made = _begun(case, place, "groups", "trim").apply(first, case.df.schema)
        made.start(str(place / "groups"), trigger=NOW).awaitTermination()
        return case.df.sparkSession.read.schema(case.df.schema).parquet(str(place / "groups"))

    return ours, lambda: case.df.groupBy(*case.key_columns()).applyInPandas(first, case.df.schema)


@operator
def stream_of_windows(case: Case, place: Path) -> Any:
    number, time = quoted(case.number), F.col(quoted(case.time))
    over = F.window(time, "90 minutes", "30 minutes")
    aggregates = {"n": "count(*)", "total": f"sum({number})", "least": f"min({number})"}

    def ours() -> Any:
        made = _begun(case, place, "windows", "prompt").aggregate(
            time=case.time, window="90 minutes", slide="30 minutes", **aggregates
        )
        view = f"windows_{zlib.crc32(str(place).encode())}"
        made.start(memory=view, output_mode="update", trigger=NOW).awaitTermination()
        return case.df.sparkSession.table(view)

    def theirs() -> Any:
        made = [F.expr(f"{text} AS {name}") for name, text in aggregates.items()]
        return case.df.where(time.isNotNull()).groupBy(over, *case.key_columns()).agg(*made)

    return ours, theirs


@operator
def stream_of_top(case: Case, place: Path) -> Any:
    number, time = quoted(case.number), F.col(quoted(case.time))
    over = F.window(time, "4 hours", "30 minutes")
    # Quarters, so that sums are exact in any order; some of them are no numbers, or infinite.
    value = (
        f"CASE WHEN {number} % 31 = 0 THEN double('NaN') WHEN {number} % 17 = 0 "
        f"THEN double('-Infinity') WHEN {number} % 5 = 0 THEN NULL ELSE {number} / 4D END"
    )

    def ours() -> Any:
        made = _begun(case, place, "top", "trim").top(
            3, time=case.time, window="4 hours", slide="30 minutes", by=f"sum({value})"
        )
        view = f"top_{zlib.crc32(str(place).encode())}"
        made.start(memory=view, output_mode="complete", trigger=NOW).awaitTermination()
        return case.df.sparkSession.table(view)

    def theirs() -> Any:
        keys = ", ".join(map(quoted, case.keys))
        rank = f"row_number() OVER (PARTITION BY window ORDER BY n DESC NULLS LAST, {keys}) AS rank"
        totals = case.df.where(time.isNotNull()).groupBy(over, *case.key_columns())
        ranked = totals.agg(F.expr(f"sum({value}) AS n")).selectExpr("*", rank)
        return ranked.where("rank <= 3").select("window", "rank", *case.key_columns(), "n")

    return ours, theirs
