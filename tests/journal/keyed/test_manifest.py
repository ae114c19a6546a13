"""A manifest is read back as it was written, and anything else is refused."""

from __future__ import annotations

import json

import pytest

from trimtab.errors import CorruptState
from trimtab.journal.keyed.lane_file import LaneFile
from trimtab.journal.keyed.manifest import LaneState, Manifest


def test_it_is_read_back_as_it_was_written() -> None:
    lanes = (LaneState((LaneFile("a", 1, 20, 3, -1), LaneFile("b", 2, 30, 4, 9)), 3), LaneState())
    manifest = Manifest(lanes, "f", "{}", "{}", {4: ("c", "d")})
    again = Manifest.from_record(json.loads(json.dumps(manifest.to_record())))
    assert again == manifest
    assert again.names == {"a", "b"}
    assert (again.key_count, again.lanes[0].size) == (3, 50)


def test_something_else_is_refused() -> None:
    with pytest.raises(CorruptState, match="not a manifest of keyed state"):
        Manifest.from_record({"format": "trimtab.plan", "version": 1})
