"""A lane's task gives its results and one record, and names one new file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.spark.stream.state.lanes import SHAPE, Lanes, laid_out
from tests.spark.stream.state.test_state_function import counting
from trimtab.errors import CorruptState
from trimtab.journal.store.local import LocalStore
from trimtab.spark.stream.state.lane import LaneTask, piece_names


def test_a_lane_without_rows_gives_its_record_and_keeps_its_files(tmp_path: Path) -> None:
    lanes = Lanes(tmp_path)
    lanes.run(counting(), laid_out([("a", 1, 0), ("b", 1, 0)]))
    before = lanes.stacks
    results, record = lanes.run(counting(), laid_out([]))
    assert results == []
    assert (record["keys"], record["changed"]) == (0, 0)
    assert lanes.stacks == before


def test_a_second_attempt_writes_a_file_of_its_own(tmp_path: Path) -> None:
    rows = laid_out([("a", 1, 0)]).to_batches()
    for _ in range(2):
        list(LaneTask(LocalStore(tmp_path), 0, SHAPE, counting(), ((),))(iter(rows)))
    assert len(list((tmp_path / "keyed").iterdir())) == 2


def test_a_file_that_is_gone_is_refused_by_name(tmp_path: Path) -> None:
    lanes = Lanes(tmp_path)
    lanes.run(counting(), laid_out([("a", 1, 0)]))
    (tmp_path / lanes.stacks[0][0].name).unlink()
    with pytest.raises(CorruptState, match=lanes.stacks[0][0].name):
        lanes.run(counting(), laid_out([("a", 1, 0)]))


def test_totals_are_those_of_all_rows_however_rows_are_cut(tmp_path: Path) -> None:
    rng, totals, keys = np.random.default_rng(5), {}, 0
    lanes = Lanes(tmp_path)
    for batch in range(12):
        users = [f"u{k}" for k in rng.zipf(1.4, 200) % 60]
        for user in users:
            totals[user] = totals.get(user, 0) + 1
        rows = laid_out([(user, 1, 0) for user in users])
        results, record = lanes.run(counting(), rows, chunk=1 + 9 * batch)
        assert {row["user"]: row["n"] for row in results} == {u: totals[u] for u in set(users)}
        keys += record["keys"]
    assert keys == len(totals)
    assert piece_names(2) == ["c0", "c1", "record"]
