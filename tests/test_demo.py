from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from trimtab.demo import Job, counter, run_demo, write_clicks
from trimtab.workloads.clicks import Clicks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = Job(
    slots=4,
    batches=2,
    rows=3_000,
    wait=0.0,
    warm_up=2_000,
    windows=2,
    window_rows=200,
    clicks=Clicks(pages=40, drift_every=9),
)


def test_each_side_has_its_turn_at_being_first_and_no_batch_is_left_out() -> None:
    warm_up, first, second = Job(batches=6).rounds()
    assert [*warm_up[0], *first[0], *second[0]] == list(range(7))
    assert first[1] == tuple(reversed(second[1]))


def test_the_floor_is_the_time_of_level_work() -> None:
    assert Job(slots=10, rows=5_000, wait=0.002).floor == pytest.approx(1.0)


def test_files_are_batches_in_the_order_of_their_age(tmp_path: Path) -> None:
    write_clicks(SMALL, range(3), tmp_path / "clicks")
    files = sorted((tmp_path / "clicks").iterdir(), key=lambda path: path.stat().st_mtime)
    assert [path.name for path in files] == ["0000.parquet", "0001.parquet", "0002.parquet"]
    rows = [pq.read_table(path) for path in files]
    assert [table.num_rows for table in rows] == [2_000, 3_000, 3_000]
    assert len({visit for table in rows for visit in table["visit"].to_pylist()}) == 8_000


def test_the_expensive_function_counts_by_page() -> None:
    pages = ["/a", "/b", "/a", "/a"]
    rows = pa.record_batch({"page": pages, "visit": [1, 2, 3, 4]})
    found: Counter[str] = Counter()
    for batch in counter(0.0)(iter([rows, rows])):
        assert batch.schema.names == ["page", "clicks"]
        for row in batch.to_pylist():
            found[row["page"]] += row["clicks"]
    assert found == {"/a": 6, "/b": 2}


@pytest.mark.spark
def test_the_whole_demo_in_small(spark: SparkSession, tmp_path: Path) -> None:
    out = Console(width=100)
    with out.capture() as captured:
        before, after = run_demo(SMALL, tmp_path / "report.html", out)
    said = " ".join(captured.get().split())
    assert before.numbers == after.numbers == [1, 2]
    assert [batch.total for batch in before.batches] == [3_000, 3_000]
    assert after.batches[0].over_bound < before.batches[0].over_bound
    assert said.count("are the same") == 2
    assert "where Spark's own window() took" in said
    assert str(tmp_path / "report.html") in said
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<img ") == 5
    assert "lost: to stragglers" in page
