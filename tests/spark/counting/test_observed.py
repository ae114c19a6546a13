"""What a batch shows while it runs, read from what Spark's observation gives."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from trimtab.spark.counting.observed import Watch, rows_foretold, stride_for


def read(*keys: tuple[str, int], rows: int, **more: Any) -> Any:
    found = [{"item": name, "count": count} for name, count in keys]
    source = [{"item": 0, "count": rows}]
    watch = Watch(lanes=2, hosts=0, stride=1, count_pairs=False)
    return watch._observed({"rows": rows, "keys": found, "source": source, **more})


def test_names_with_one_hash_are_one_key() -> None:
    seen = read(("7:0.0", 30), ("8:1.5", 25), ("7:-0.0", 10), rows=70, distinct=3)
    known = seen.histogram
    assert dict(zip(known.hashes.tolist(), known.weights.tolist(), strict=True)) == {7: 40, 8: 25}
    assert known.labels == {7: "0.0", 8: "1.5"}


def test_hashes_are_unsigned_and_names_may_be_left_out() -> None:
    known = read(("-1:", 4), ("3:a:b", 2), rows=6, distinct=2).histogram
    assert known.hashes.tolist() == [2**64 - 1, 3]
    assert known.labels == {3: "a:b"}


def test_an_observation_that_spark_left_out_is_an_empty_batch() -> None:
    seen = Watch(lanes=2, hosts=4, stride=1, count_pairs=True)._observed({})
    assert (seen.rows, len(seen.histogram), seen.loads) == (0, 0, None)


def test_an_observation_without_figures_is_an_empty_batch_on_connect() -> None:
    watch = Watch(lanes=2, hosts=4, stride=1, count_pairs=True)
    nothing: Any = SimpleNamespace(get={})
    watch._observations.append(nothing)
    assert watch.read().rows == 0


def test_a_stride_shows_about_as_many_rows_of_every_batch() -> None:
    assert stride_for(0) == 1
    assert stride_for(10**9) > stride_for(10**6) >= 1


@pytest.mark.spark
def test_a_first_batch_is_known_by_the_size_of_its_files_and_joins_are_not_guessed_at(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.range(200_000).selectExpr("id", "id * 7919 AS x", "repeat('ab', 50) AS text")
    rows.write.parquet(str(tmp_path / "rows"))
    kept = spark.read.parquet(str(tmp_path / "rows"))
    assert 20_000 < rows_foretold(kept.where("x > 5")) <= 200_000
    assert rows_foretold(kept.join(kept.select("id"), "id")) == 0
