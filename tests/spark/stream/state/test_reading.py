"""States are shown with their lane, key and timeout; nothing is shown that is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.stream.state.lanes import SHAPE, Lanes, laid_out
from tests.spark.stream.state.test_state_function import Moment, quiet, work
from trimtab.errors import InvalidArgument
from trimtab.journal.store.local import LocalStore
from trimtab.spark import read_state
from trimtab.spark.stream.state.reading import LaneReader


def test_a_lane_is_read_as_it_is(tmp_path: Path) -> None:
    lanes = Lanes(tmp_path)
    calls = work(quiet, "ProcessingTimeTimeout", Moment(1000, None))
    lanes.run(calls, laid_out([(user, 1, 0) for user in ("never", "later", "awaited")]))
    lanes.run(work(lambda key, rows, state: state.remove() or []), laid_out([("later", 1, 0)]))
    found = LaneReader(LocalStore(tmp_path), SHAPE, lanes.stacks).of_lane(0).to_pylist()
    assert sorted((row["key"]["user"], row["state"], row["timeout"]) for row in found) == [
        ("awaited", None, 1100),
        ("never", {"n": 1, "text": None}, None),
    ]


def test_something_that_is_no_session_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="takes a Spark session; got str"):
        read_state("ck", "ck")  # type: ignore[arg-type]
