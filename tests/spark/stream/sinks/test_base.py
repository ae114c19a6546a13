"""A sink of a stranger's: one class, given to `start`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.stream.inputs import windowed
from trimtab.errors import InvalidArgument
from trimtab.spark import Batch, MemorySink, ParquetSink, Sink, Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as T

pytestmark = pytest.mark.spark


class TextFiles(Sink):
    """A file of text per batch; its results are there if the file is."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.calls: list[str] = []

    def prepare(self, schema: T.StructType, session: SparkSession) -> None:
        self.calls.append(f"prepare {schema.names}")

    def open(self, query: str) -> None:
        self.calls.append("open")
        self.place.mkdir(exist_ok=True)

    def has(self, number: int) -> bool:
        return (self.place / f"{number}.txt").exists()

    def write(self, results: DataFrame | None, batch: Batch, session: SparkSession) -> None:
        self.calls.append(f"write {batch.id}")
        rows = [] if results is None else results.collect()
        (self.place / f"{batch.id}.txt").write_text("\n".join(map(repr, rows)))


def test_a_sink_of_a_strangers_is_prepared_opened_and_written_to(
    begin: Callable[..., Stream], tmp_path: Path
) -> None:
    sink = TextFiles(tmp_path / "out")
    windowed(begin()).start(sink=sink, trigger={"availableNow": True}).awaitTermination()
    assert sink.calls[0].startswith("prepare ['window', 'user'")
    assert sink.calls[1:] == ["open", *(f"write {n}" for n in range(4))]
    assert sum(len(path.read_text()) for path in (tmp_path / "out").iterdir()) > 1000


@pytest.mark.exhaustive
def test_words_are_short_for_sinks(
    begin: Callable[..., Stream], spark: SparkSession, tmp_path: Path
) -> None:
    def rows(place: Path, **where: Any) -> list[str]:
        made = windowed(begin(checkpoint=str(place)))
        made.start(trigger={"availableNow": True}, **where).awaitTermination()
        frame = spark.table("shown") if "sink" in where else spark.table("also_shown")
        return sorted(map(repr, frame.collect()))

    shown = rows(tmp_path / "a", sink=MemorySink("shown"))
    assert shown == rows(tmp_path / "b", memory="also_shown")
    assert len(shown) > 50


@pytest.mark.parametrize(
    ("where", "words"),
    [
        pytest.param({}, "got none", id="none"),
        pytest.param({"path": "out", "memory": "view"}, "got path and memory", id="two words"),
        pytest.param(
            {"path": "out", "sink": MemorySink("view")}, "got path and sink", id="a word and a sink"
        ),
        pytest.param(
            {"sink": "out"}, "sink must be a trimtab.spark.Sink; got 'out'", id="a path as a sink"
        ),
        pytest.param({"sink": ParquetSink}, "sink must be a trimtab.spark.Sink", id="a class"),
    ],
)
def test_exactly_one_sink_must_be_given(
    where: dict[str, Any], words: str, begin: Callable[..., Stream]
) -> None:
    with pytest.raises(InvalidArgument, match=words):
        windowed(begin()).start(**where)
