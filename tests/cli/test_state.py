from __future__ import annotations

import json
from pathlib import Path

from tests.cli.calls import trimtab
from tests.journal.keyed.checkpoints import keyed_checkpoint
from tests.report.checkpoints import event
from trimtab.journal.event_log import EventLog
from trimtab.journal.store.local import LocalStore


def test_lanes_largest_keys_and_moves_are_shown(tmp_path: Path) -> None:
    keyed_checkpoint(tmp_path)
    moved = {"moved_keys": 7, "moved_bytes": 210, "moving_seconds": 0.5, "moving_cost": 0.25}
    facts = {"state": moved, "reason": "change: lanes", "expected": {"gain": 0.5, "cost": 0.125}}
    EventLog(LocalStore(tmp_path)).append({**event(0, [1, 1]), **facts})
    text = trimtab("state", tmp_path).stdout
    assert "State of 2 keys" in text
    assert "change: lanes" in text
    data = json.loads(trimtab("state", tmp_path, "--json").stdout)
    assert [lane["keys"] for lane in data["lanes"]] == [2, 0]
    assert [key["key"] for key in data["largest_keys"]] == ["3", "9"]
    (move,) = data["moves"]
    assert (move["keys"], move["cost"], move["expected"]) == (7, 0.25, 0.125)


def test_a_stream_without_state_is_refused_in_one_sentence(tmp_path: Path) -> None:
    assert "no batch that is done" in trimtab("state", tmp_path, code=2).stderr
