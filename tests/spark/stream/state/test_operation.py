"""What the committed pieces name becomes the manifest; nothing that can be read is removed."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import types as T

from tests.spark.stream.state.lanes import SHAPE, struct
from trimtab.journal.keyed.lane_file import LaneFile
from trimtab.plan import Plan
from trimtab.spark.stream.operations.base import Running
from trimtab.spark.stream.state.kept import KeyedKept
from trimtab.spark.stream.state.lane import Work
from trimtab.spark.stream.state.operation import KeyedOperation

PLAN = Plan(2)


class Counting(KeyedOperation):
    def identity(self) -> dict[str, Any]:
        return {}

    def work(self, running: Running, kept: KeyedKept) -> Work:
        return SimpleNamespace(result=struct(n=T.LongType()))  # type: ignore[return-value]


def record(lane: int, *names: str, keys: int = 0, arrived: int = 0) -> dict[str, Any]:
    files = [LaneFile(name, 10, 100, 0, -1).to_record() for name in names]
    fields = dict.fromkeys(("changed", "timed_out", "arrived_bytes"), 0)
    times = {"moving_seconds": 0.5 if arrived else 0.0, "seconds": 2.0}
    function = {"rows": 1, "seconds": 1.5, "keys": [[lane], [1], [1.5]]}
    clock = {"lane": lane, "rows": 5, "started": 1.0, "ended": 1.0 + lane, "executor": "a/0"}
    facts = {"lane": lane, "files": files, "keys": keys, "arrived": arrived}
    facts |= {"function": function, "clock": clock}
    return {**facts, **fields, **times}


def after(kept: KeyedKept, number: int, *records: dict[str, Any]) -> Any:
    running: Any = SimpleNamespace(
        number=number,
        batch=SimpleNamespace(plan=PLAN, lanes=2),
        spark_watermark=7_000_000,
        texts=lambda name, kind, column: [json.dumps(one) for one in records],
    )
    return Counting(SHAPE).keep(running, kept, None)


def test_files_keys_and_costs_are_those_of_the_records() -> None:
    first = after(KeyedKept(), 0, record(0, "a", keys=5), record(1, "b", keys=3))
    assert first.kept.manifest.names == {"a", "b"}
    assert (first.keys, first.move_cost) == (8, None)
    second = after(first.kept, 1, record(0, "c", "a", keys=-1), record(1, "d", arrived=4, keys=4))
    assert second.kept.manifest.key_count == 11
    assert second.kept.manifest.plan == PLAN.fingerprint
    assert second.kept.manifest.replaced == {0: (), 1: ("b",)}
    assert second.kept.watermark == 7000
    assert second.event["state"]["moved_keys"] == 4
    assert second.event["state"]["moving_cost"] == pytest.approx(0.5 / 4.0)
    assert second.event["state"]["function_seconds"] == [1.5, 1.5]
    assert (second.spent.hashes.tolist(), second.spent.all_seconds) == ([0, 1], 3.0)
    # Half a second for four keys: eleven take a third of the four seconds of a batch.
    assert second.move_cost == pytest.approx(0.5 / 4 * 11 / 4.0)


def test_replaced_files_stay_as_long_as_the_states_that_need_them() -> None:
    kept = KeyedKept()
    for number in range(6):
        kept = after(kept, number, record(0, f"a{number}"), record(1)).kept
    removed: list[Any] = []
    place: Any = SimpleNamespace(keep_keyed=lambda batch, needed: removed.append((batch, needed)))
    Counting(SHAPE).clean(place, 5, kept)
    # The states of the batches 3, 4 and 5 can be read.
    ((batch, needed),) = removed
    assert batch == 5
    assert needed >= {"a3", "a4", "a5"}
    assert "a1" not in needed


def test_late_rows_are_those_behind_the_watermark_of_the_batch_before() -> None:
    running: Any = SimpleNamespace(batch=SimpleNamespace(lanes=2))
    wanted = Counting(SHAPE, "ts").wants(running, KeyedKept(watermark=5000))
    assert wanted.counted == "coalesce(`ts` > timestamp_millis(5000L), true)"
    assert wanted.tasks == 2
    assert Counting(SHAPE).wants(running, KeyedKept()).counted is None
