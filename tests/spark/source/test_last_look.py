"""A source without rows that ticks after batches with rows, so that a query looks once more."""

from __future__ import annotations

from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql.types import StructType

from trimtab.journal.store import store
from trimtab.spark.source.last_look import last_look_source


def note(place: Path, number: int, rows: int, ticks: int) -> None:
    folder = place / "spark" / "offsets"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(number)).write_text(f"v1\n{{}}\n{rows}\n{ticks}")


def test_it_ticks_at_the_start_and_after_every_batch_that_had_rows(tmp_path: Path) -> None:
    made = last_look_source("look", cloudpickle.dumps(store(tmp_path)))
    # It travels to another process, where Trimtab is imported when it is first needed.
    source = cloudpickle.loads(cloudpickle.dumps(made))
    assert source.name() == "look"
    ticks = source({}).streamReader(StructType())
    ticks.prepareForTriggerAvailableNow()
    first = ticks.latestOffset(ticks.initialOffset(), None)
    assert first == {"offset": 1, "timestamp": 1000}
    note(tmp_path, 0, rows=5, ticks=1)
    second = ticks.latestOffset(first, None)
    assert second == {"offset": 2, "timestamp": 2000}
    note(tmp_path, 1, rows=5, ticks=2)
    assert ticks.latestOffset(second, None) == second
    assert list(ticks.read(ticks.partitions(first, second)[0])) == []


def test_a_query_that_starts_without_rows_looks_once(tmp_path: Path) -> None:
    note(tmp_path, 7, rows=5, ticks=8)
    note(tmp_path, 8, rows=5, ticks=9)
    made = last_look_source("look", cloudpickle.dumps(store(tmp_path)))
    ticks = made({}).streamReader(StructType())
    before = {"offset": 9, "timestamp": 9000}
    after = ticks.latestOffset(before, None)
    assert after == {"offset": 10, "timestamp": 10_000}
    note(tmp_path, 9, rows=5, ticks=10)
    assert ticks.latestOffset(after, None) == after
