"""Pieces that take the place of others: which, and that they are read as they were written."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.spark.stream.windows.aggregates import read_aggregates
from trimtab.spark.stream.windows.combining import PaneColumns
from trimtab.spark.stream.windows.compacting import compaction, pieces_of
from trimtab.spark.stream.windows.panes import Windows
from trimtab.spark.stream.windows.segments import COMPACT_AFTER, Segment

WINDOWS = Windows(1000, 1, 0)


@pytest.mark.spark
def test_merged_pieces_have_the_type_of_panes_and_only_what_is_needed(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "k long, ts timestamp, x decimal(10,2)")
    read = read_aggregates(rows, {"total": "sum(x)", "most": "max(x)"}, "ts", taken_back=True)
    columns = PaneColumns("ts", WINDOWS, read, rows.schema, ["k"], ["k"])
    kind = columns.of_panes(spark)

    def batch(names: Sequence[str], asked: T.StructType) -> DataFrame:
        assert asked == kind
        made = [(7, int(name), 1, Decimal(2), Decimal(int(name))) for name in names]
        return spark.createDataFrame(made, kind)

    segments = [Segment(str(n), n, n) for n in range(COMPACT_AFTER)]
    step = compaction(WINDOWS, segments, (), "9", 10, by_levels=True)
    assert [s.name for s in step.segments] == ["10", "11", "12", "13", "14", "15"]
    many = [Segment(str(n), n, n) for n in range(10, 10 + COMPACT_AFTER)]
    step = compaction(WINDOWS, many, (), "9", 10, by_levels=True)
    assert [s.name for s in step.segments] == ["9-merged"]
    made = dict(pieces_of(step, columns, batch, spark))
    kinds = {name: [f.dataType for f in frame.schema] for name, frame in made.items()}
    assert kinds["9-merged"] == [f.dataType for f in kind]
    assert kinds["9-condensed"] == [f.dataType for f in columns.of_condensed(spark)]
    (condensed,) = made["9-condensed"].collect()
    assert tuple(condensed) == (7, COMPACT_AFTER, Decimal(2 * COMPACT_AFTER), Decimal(25))
    panes = [row["pane"] for row in made["9-merged"].collect()]
    assert sorted(panes) == list(range(10, 10 + COMPACT_AFTER))


def test_without_levels_small_segments_become_one_and_what_is_over_goes() -> None:
    many = [Segment(str(n), n, n) for n in range(COMPACT_AFTER + 3)]
    step = compaction(WINDOWS, many, (), "9", 3, by_levels=False)
    assert [s.name for s in step.segments] == ["9-merged"]
    (merge,) = step.merges
    assert merge.by_pane
    assert merge.first == 3
    assert [s.name for s in merge.of] == [str(n) for n in range(3, COMPACT_AFTER + 3)]
    assert compaction(WINDOWS, many[:5], (), "9", 3, by_levels=False).merges == ()
