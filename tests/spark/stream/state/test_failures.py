"""Spoiled state files and a second driver: the query stops by name, and goes on afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.spark.stream.inputs import read_stream, write_files
from tests.spark.stream.state.test_apply_with_state import counted, states, totals
from trimtab.journal import moments
from trimtab.journal.checkpoint import Checkpoint
from trimtab.spark import events, stream

pytestmark = [pytest.mark.spark, pytest.mark.slow]


class Query:
    """A query over files that more are added to, with one checkpoint and another."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.spark, self.place = spark, place
        write_files(place / "in", 1)
        self.run(place / "ck")
        write_files(place / "in", 2)

    def run(self, checkpoint: Path) -> None:
        rows = read_stream(self.spark, self.place / "in")
        origin = stream(rows, "user", 2, checkpoint=str(checkpoint))
        calls = origin.apply_with_state(counted, "user string, n long", "n long")
        query = calls.start(
            function=lambda rows, batch: rows.count(),
            output_mode="update",
            trigger={"availableNow": True},
        )
        query.awaitTermination()

    def copy(self, to: Path) -> Path:
        """Return the checkpoint as it was after the first batch."""
        return Path(shutil.copytree(self.place / "ck", to))

    def goes_on(self, checkpoint: Path) -> bool:
        """Run what is left; tell whether every row has been counted once."""
        self.run(checkpoint)
        return states(self.spark, checkpoint) == totals(self.spark, self.place / "in")


@pytest.fixture(scope="module")
def query(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Query:
    return Query(spark, tmp_path_factory.mktemp("query"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


def alter(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("spoil", [Path.unlink, cut, alter], ids=["missing", "cut", "altered"])
def test_a_spoiled_state_file_stops_the_query_by_name_and_nothing_is_lost(
    spoil: Callable[[Path], Any], query: Query, tmp_path: Path
) -> None:
    checkpoint = query.copy(tmp_path / "ck")
    path = min((checkpoint / "keyed").iterdir())
    whole = path.read_bytes()
    spoil(path)
    with pytest.raises(StreamingQueryException, match=path.name):
        query.run(checkpoint)
    path.write_bytes(whole)
    assert query.goes_on(checkpoint)


@pytest.mark.parametrize("moment", ["plan written", "panes written"])
def test_of_two_drivers_the_later_one_goes_on_with_all_states(
    moment: str, query: Query, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = query.copy(tmp_path / "ck")

    def at(reached: str, batch: int) -> None:
        if (reached, batch) == (moment, 1):
            Checkpoint(checkpoint, {}).take_over()

    with monkeypatch.context() as patch:
        patch.setattr(moments, "at", at)
        with pytest.raises(StreamingQueryException, match="this driver stops and has lost nothing"):
            query.run(checkpoint)
    assert [line["batch"] for line in events(str(checkpoint))] == [0]
    assert query.goes_on(checkpoint)
    # What the first driver's tasks had written belongs to nobody, and is gone.
    assert len(list((checkpoint / "keyed").iterdir())) <= 4
