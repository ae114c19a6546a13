from __future__ import annotations

from pathlib import Path

import pytest

from tests.journal.keyed.checkpoints import keyed_checkpoint
from trimtab.errors import InvalidArgument
from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.keyed.inspection import largest_states, manifest_of
from trimtab.journal.store.local import LocalStore


def test_the_newest_manifest_is_found_and_its_keys_are_named(tmp_path: Path) -> None:
    written = keyed_checkpoint(tmp_path)
    assert manifest_of(LocalStore(tmp_path)) == manifest_of(LocalStore(tmp_path), 0) == written
    assert [key for key, _, _ in largest_states(LocalStore(tmp_path), written, 5)] == ["3", "9"]
    assert len(largest_states(LocalStore(tmp_path), written, 1)) == 1


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no batch that is done"):
        manifest_of(LocalStore(tmp_path / "none"))
    keyed_checkpoint(tmp_path / "some")
    with pytest.raises(InvalidArgument, match=r"after batch 7 is not there .* has those of 0"):
        manifest_of(LocalStore(tmp_path / "some"), 7)
    Checkpoint(tmp_path / "plain", {}).write_state(0, {"operation": {}})
    with pytest.raises(InvalidArgument, match="keeps no state per key"):
        manifest_of(LocalStore(tmp_path / "plain"))
