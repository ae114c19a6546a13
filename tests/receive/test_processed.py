"""Notes of how long batches took: all of them up to a batch, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.errors import StoreFailed
from trimtab.receive.processed import NOTES, note_processed, take_processed


def test_notes_up_to_a_batch_are_added_up_and_taken_once(tmp_path: Path) -> None:
    for batch in range(3):
        note_processed(tmp_path, batch, 0.5 + batch, 10)
    assert take_processed(tmp_path, 1) == (2.0, 20)
    assert take_processed(tmp_path, 1) == (None, None)
    assert take_processed(tmp_path, 2) == (2.5, 10)


def test_a_note_that_cannot_be_read_counts_as_none(tmp_path: Path) -> None:
    note_processed(tmp_path, 0, 0.5, 10)
    (tmp_path / NOTES / f"{1:020d}").write_text("{")
    assert take_processed(tmp_path, 5) == (0.5, 10)


def test_a_batch_that_runs_again_takes_the_place_of_its_note(tmp_path: Path) -> None:
    note_processed(tmp_path, 0, 0.5, 10)
    note_processed(tmp_path, 0, 0.7, 10)
    assert take_processed(tmp_path, 0) == (0.7, 10)


def test_a_log_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / NOTES).touch()
    with pytest.raises(StoreFailed, match=f"{NOTES}/{7:020d}, .* cannot be written"):
        note_processed(tmp_path, 7, 0.5, 10)
