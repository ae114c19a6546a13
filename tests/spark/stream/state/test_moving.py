"""When the plan changes every key's state is on its new lane, once, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.spark.stream.state.lanes import SHAPE, Lanes, laid_out
from tests.spark.stream.state.test_state_function import counting
from trimtab.journal.keyed.lane_file import LaneFile
from trimtab.journal.keyed.stack import Stack
from trimtab.journal.store.local import LocalStore
from trimtab.keys import hash_keys
from trimtab.plan import Plan
from trimtab.spark.stream.state.moving import Mover, lanes_by, moved_rows


def lanes_of(plan: Plan, users: list[str]) -> list[int]:
    return plan.route(hash_keys(pa.array(users))).tolist()


def run(lanes: Lanes, plan: Plan, users: list[str], moved: list[pa.RecordBatch]) -> int:
    """Run a batch on every lane; return how many keys arrived."""
    arrived = 0
    homes = lanes_of(plan, users)
    for lane in range(plan.lanes):
        mine = [(user, 1, 0) for user, home in zip(users, homes, strict=True) if home == lane]
        sent = [b.filter(pa.array(b.column(SHAPE.lane).to_numpy() == lane)) for b in moved]
        rows = laid_out(mine, lane=lane, moved=sent)
        _, record = lanes.run(counting(), rows, lane, new_plan=plan.to_json())
        arrived += record["arrived"]
    return arrived


def held(lanes: Lanes, lane: int) -> dict[str, int]:
    live = Stack(LocalStore(lanes.place), lanes.stacks[lane], SHAPE.entries).live()
    return dict(zip(live["key:user"].to_pylist(), live["state:n"].to_pylist(), strict=True))


def test_lanes_are_those_of_the_plan() -> None:
    hashes = hash_keys(np.arange(5000)).view(np.int64)
    for plan in (Plan(7), Plan(3, {int(h) & (2**64 - 1): 2 for h in hashes[:40]}, hosts=[1, 0, 2])):
        assert lanes_by(plan, hashes).tolist() == plan.route(hashes.view(np.uint64)).tolist()


def test_states_follow_through_changes_of_plan_and_of_lanes(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    users = [f"u{k}" for k in range(80)]
    hot = hash_keys(pa.array(["u1", "u2"])).tolist()
    plans = [
        Plan(3),
        Plan(3, {hot[0]: 0, hot[1]: 0}),
        Plan(5, hosts=[4, 3, 2, 1, 0]),
        Plan(2),
        Plan(3),
    ]
    lanes = Lanes(tmp_path, lanes=3)
    totals = dict.fromkeys(users, 0)
    before: Plan | None = None
    for plan in plans:
        chosen = rng.choice(users, 30, replace=False).tolist()
        moved: list[pa.RecordBatch] = []
        expected = 0
        if before is not None:
            mover = Mover(LocalStore(tmp_path), SHAPE, lanes.stacks, plan.to_json())
            old = pa.record_batch({"id": pa.array(range(before.lanes), pa.int64())})
            moved = list(mover(iter([old])))
            seen = [user for user, total in totals.items() if total]
            pairs = zip(lanes_of(before, seen), lanes_of(plan, seen), strict=True)
            expected = sum(here != there for here, there in pairs)
            # Of a key that moves there is one row; a mark for every old lane brings its seconds.
            assert sum(map(len, moved)) == expected + before.lanes
        lanes.stacks = (lanes.stacks + ((),) * plan.lanes)[: plan.lanes]
        for user in chosen:
            totals[user] += 1
        assert run(lanes, plan, chosen, moved) == expected
        for lane in range(plan.lanes):
            mine = {u: n for u, n in totals.items() if n and lanes_of(plan, [u]) == [lane]}
            assert held(lanes, lane) == mine
        before = plan


@pytest.mark.parametrize(
    ("entries", "slots", "tasks"),
    [
        pytest.param(1000, 16, 1, id="one task for few entries"),
        pytest.param(900_000, 16, 4, id="more for more"),
        pytest.param(90_000_000, 3, 3, id="never more than run at once"),
        pytest.param(90_000_000, 16, 5, id="never more than lanes"),
    ],
)
def test_few_tasks_look_for_keys_that_move(entries: int, slots: int, tasks: int) -> None:
    asked: list[int] = []

    def numbers(start: int, end: int, step: int, partitions: int) -> Any:
        asked.append(partitions)
        return SimpleNamespace(mapInArrow=lambda function, kind: None)

    stacks = ((LaneFile("a", entries, 1, 1, -1),), (), (), (), ())
    mover = Mover(LocalStore("nowhere"), SHAPE, stacks, Plan(2).to_json())
    moved_rows(SimpleNamespace(range=numbers), mover, slots)  # type: ignore[arg-type]
    assert asked == [tasks]
