from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.errors import CorruptState
from trimtab.journal.spark_offsets import Offsets, read_offsets
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
