from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.errors import CorruptState
from trimtab.journal.spark_offsets import Offsets, read_offsets, took_something
from trimtab.journal.store import Store, store


def noted(place: Path, text: str) -> Store:
    (place / "spark" / "offsets").mkdir(parents=True)
    (place / "spark" / "offsets" / "4").write_text(text)
    return store(place)


def test_sources_and_watermark_are_read_as_spark_notes_them(tmp_path: Path) -> None:
    facts = '{"batchWatermarkMs":12000,"batchTimestampMs":5,"conf":{}}'
    place = noted(tmp_path, f'v1\n{facts}\n{{"logOffset":3}}\n-')
    assert read_offsets(place, 4) == Offsets(('{"logOffset":3}', "-"), 12_000, 5)


def test_a_batch_that_spark_has_not_noted_has_no_offsets(tmp_path: Path) -> None:
    assert read_offsets(store(tmp_path), 4) is None


@pytest.mark.parametrize("text", ["v1\nno json\n-", "v1\n[1]\n-", 'v1\n{"batchWatermarkMs":[]}'])
def test_what_spark_would_not_write_is_refused_by_name(text: str, tmp_path: Path) -> None:
    with pytest.raises(CorruptState, match="offsets/4 is not as Spark writes it"):
        read_offsets(noted(tmp_path, text), 4)


@pytest.mark.parametrize(
    ("notes", "took"),
    [
        pytest.param([], False, id="no batch"),
        pytest.param([("-", "0")], False, id="a first batch without rows"),
        pytest.param([("3", "0")], True, id="a first batch with rows"),
        pytest.param([("3", "0"), ("4", "1")], True, id="a batch with rows"),
        pytest.param([("3", "0"), ("3", "1")], False, id="a batch in which only the clock went on"),
        pytest.param([("3", "5", "0"), ("3", "6", "1")], True, id="rows of the second source"),
        pytest.param([(str(n), "0") for n in range(11)] + [("10", "1")], False, id="twelve"),
    ],
)
def test_the_newest_batch_tells_whether_it_took_something(
    notes: list[tuple[str, ...]], took: bool, tmp_path: Path
) -> None:
    offsets = tmp_path / "spark" / "offsets"
    offsets.mkdir(parents=True)
    for number, sources in enumerate(notes):
        (offsets / str(number)).write_text("\n".join(["v1", "{}", *sources]))
        (offsets / f".{number}.crc").write_text("")
    assert took_something(store(tmp_path)) == took
