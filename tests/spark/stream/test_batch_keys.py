"""Looks at the batch in hand: what is kept of it, and what streams with looks come to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from trimtab.journal.event_log import EventLog
from trimtab.spark.counting.look import Looked, look_at_keys
from trimtab.spark.stream import batch_keys
from trimtab.spark.stream.api import stream
from trimtab.spark.stream.batch_keys import BatchKeys
from trimtab.spark.stream.looking import KEEP, READ_AGAIN, Look
from trimtab.spark.stream.steering import Glance

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

START = 1_700_000_000
NOW = {"availableNow": True}
LANES = 8


def glance(how: str, *, exact: bool = False) -> Glance:
    return Glance(Look(how, "why"), LANES, 64, exact)


def unrepeatable(spark: SparkSession) -> DataFrame:
    """Return rows whose keys are others whenever they are computed."""
    return spark.range(0, 2000, 1, 2).select(F.expr("uuid()").substr(1, 3).alias("key"))


@pytest.mark.parametrize("exact", [False, True], ids=["a sample", "an exact count"])
def test_rows_that_are_kept_are_those_that_were_looked_at(spark: SparkSession, exact: bool) -> None:
    keys = BatchKeys(unrepeatable(spark), ["key"], names_keys=True, partitions=2)
    look, looked = keys.look(glance(KEEP, exact=exact))
    assert (look.rows, look.exact, look.seconds > 0) == (2000, True, True)
    counts = {row["key"]: row["count"] for row in keys.rows.groupBy("key").count().collect()}
    found = looked.histogram
    named = {found.label(int(key)): n for key, n in zip(found.hashes, found.weights, strict=True)}
    common = {name: n for name, n in named.items() if name in counts}
    assert len(common) > 100
    assert common == {name: counts[name] for name in common}
    assert keys.rows.is_cached
    keys.release()
    assert not keys.rows.is_cached


def test_keys_that_are_read_again_leave_nothing_behind(spark: SparkSession) -> None:
    keys = BatchKeys(unrepeatable(spark), ["key"], names_keys=False, partitions=None)
    look, _ = keys.look(glance(READ_AGAIN))
    assert look.rows == 2000
    assert not keys.rows.is_cached
    keys.release()


def write_words(place: Path, batches: int, files: list[int]) -> list[np.ndarray[Any, Any]]:
    """Write batches of one column whose hottest key, of 40 %, is another one every time.

    Rows of a key are equal. `files` says how many files, and so map tasks, the batches have.
    """
    place.mkdir(parents=True)
    rng = np.random.default_rng(3)
    made = []
    for batch in range(batches):
        words = np.where(
            rng.random(4000) < 0.4, 1000 * batch, 1000 * batch + rng.integers(1, 400, 4000)
        )
        made.append(words)
        for part, piece in enumerate(np.array_split(words, files[batch % len(files)])):
            path = place / f"{batch:02d}-{part}.parquet"
            numbers = np.arange(piece.size)
            pq.write_table(pa.table({"word": piece, "n": numbers}), path)
            os.utime(path, (START + batch, START + batch))
    return made


@pytest.mark.both
@pytest.mark.parametrize("partitioner", ["trim", pytest.param("kip", marks=pytest.mark.exhaustive)])
def test_new_keys_and_equal_rows_are_level_in_every_batch_whatever_the_map_tasks(
    spark: SparkSession, tmp_path: Path, partitioner: str
) -> None:
    words = write_words(tmp_path / "in", 6, [1, 4, 8])
    source = spark.readStream.schema("word long")
    # Batches of one, four and eight files: so many are taken at once that all begin a batch.
    place = str(tmp_path / "out")

    def keep(rows: DataFrame, batch: Any) -> None:
        rows.write.mode("overwrite").parquet(f"{place}/{batch.id}")

    for batch in range(6):
        taken = tmp_path / "taken"
        taken.mkdir(exist_ok=True)
        for path in (tmp_path / "in").glob(f"{batch:02d}-*"):
            path.rename(taken / path.name)
        stream(
            source.parquet(str(taken)),
            "word",
            LANES,
            partitioner,
            str(tmp_path / "ck"),
            look="always",
        ).for_each_batch(keep).start(trigger=NOW).awaitTermination()
    found = spark.read.option("recursiveFileLookup", "true").parquet(place)
    total = {row["word"]: row["count"] for row in found.groupBy("word").count().collect()}
    values, counts = np.unique(np.concatenate(words), return_counts=True)
    assert total == dict(zip(values.tolist(), counts.tolist(), strict=True))
    events = list(EventLog(tmp_path / "ck").events())
    assert all(event["look"]["exact"] and event["look"]["rows"] == 4000 for event in events)
    bound = 1.0 if partitioner == "trim" else 0.4 * LANES
    levels = [event["max_over_mean"] / bound for event in events]
    # A lane has 500 rows. Which of 1,600 rows of the hot key come to it is a draw: of 400, give or
    # take 17 four times.
    assert max(levels) <= 1.16, levels
    assert [event["look"]["how"] for event in events[:4]] == [KEEP] * 2 + [READ_AGAIN] * 2


def test_a_batch_that_runs_again_follows_its_plan_and_is_not_looked_at_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_words(tmp_path / "in", 2, [1])
    looks: list[int] = []

    def counted(*args: Any, **options: Any) -> Looked:
        looks.append(1)
        return look_at_keys(*args, **options)

    monkeypatch.setattr(batch_keys, "look_at_keys", counted)
    plans: list[tuple[int, str]] = []

    def fail_once(rows: DataFrame, batch: Any) -> None:
        plans.append((batch.id, batch.plan.fingerprint))
        if len(plans) == 2:
            raise RuntimeError("a failure in the middle")
        assert rows.count() == 4000

    def run() -> None:
        source = spark.readStream.schema("word long").option("maxFilesPerTrigger", 1)
        frame = source.parquet(str(tmp_path / "in"))
        made = stream(frame, "word", LANES, checkpoint=str(tmp_path / "ck"), look="always")
        made.for_each_batch(fail_once).start(trigger=NOW).awaitTermination()

    with pytest.raises(StreamingQueryException, match="a failure in the middle"):
        run()
    run()
    assert [number for number, _ in plans] == [0, 1, 1]
    assert plans[1] == plans[2]
    assert len(looks) == 2
    newest = list(EventLog(tmp_path / "ck").events())[-1]
    assert (newest["look"]["how"], newest["look"]["rows"]) == (KEEP, 4000)


def test_keys_of_a_source_that_gives_others_every_time_are_level_and_come_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_words(tmp_path / "in", 3, [1])
    source = spark.readStream.schema("word long, n long").option("maxFilesPerTrigger", 1)
    # Whoever computes the rows again gets another hot key.
    frame = source.parquet(str(tmp_path / "in")).select(
        F.expr("if(word % 1000 = 0, substr(uuid(), 1, 1), concat('w', word % 1000))").alias("word"),
        "n",
    )
    numbers: list[list[int]] = []

    def note(rows: DataFrame, batch: Any) -> None:
        numbers.append(sorted(row["n"] for row in rows.select("n").collect()))

    made = stream(frame, "word", LANES, "trim", str(tmp_path / "ck"), look="always")
    made.for_each_batch(note).start(trigger=NOW).awaitTermination()
    assert numbers == [list(range(4000))] * 3
    events = list(EventLog(tmp_path / "ck").events())
    kept = [event for event in events if event["look"]["how"] == KEEP]
    assert len(kept) == 2
    assert all(event["max_over_mean"] <= 1.15 for event in kept)
