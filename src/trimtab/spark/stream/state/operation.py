"""The operation behind all that keeps state per key: one pass over each lane of a batch."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from trimtab.journal.checkpoint import KEPT_BATCHES, Checkpoint
from trimtab.journal.keyed.lane_file import LaneFile
from trimtab.journal.keyed.manifest import LaneState, Manifest
from trimtab.spark.columns import quoted
from trimtab.spark.counting.lane_clock import lane_times
from trimtab.spark.counting.observed import Observed
from trimtab.spark.shipping import shipped
from trimtab.spark.stream.operations.base import (
    Keeping,
    Operation,
    Results,
    Rows,
    Running,
    Wanted,
)
from trimtab.spark.stream.state.kept import Cost, KeyedKept, refuse_other_state
from trimtab.spark.stream.state.key_times import key_seconds
from trimtab.spark.stream.state.lane import LaneTask, Work, piece_names
from trimtab.spark.stream.state.moving import Mover, moved_rows
from trimtab.spark.stream.state.shape import Kind, Shape, key_hashes

_FIRST_HASH = "CAST('-9223372036854775808' AS BIGINT)"


class KeyedOperation(Operation[KeyedKept]):
    """One pass over every lane: rows and states in, results and new states out.

    Parameters
    ----------
    shape
        Names and types of rows, keys and states.
    event_time
        The column with Spark's watermark, by which rows are late; None if none are.
    """

    splits = False
    keeps_state = True
    updates = True

    def __init__(self, shape: Shape, event_time: str | None = None) -> None:
        self.shape = shape
        self.event_time = event_time

    @abstractmethod
    def work(self, running: Running, kept: KeyedKept) -> Work:
        """Return what is done on every lane."""

    def start(self) -> KeyedKept:
        """Return an empty state."""
        return KeyedKept()

    def restore(self, state: dict[str, Any]) -> KeyedKept:
        """Return what was kept; a type of state that does not fit it is refused."""
        kept = KeyedKept.restore(state)
        refuse_other_state(kept.manifest.state, self.shape.state)
        return kept

    def wants(self, running: Running, kept: KeyedKept) -> Wanted:
        """Ask for rows on their lanes, with the key's hashes, beside marks and moving states."""
        shape = self.shape
        hashed, check = key_hashes([shape.rows[key] for key in shape.keys])
        columns = {
            shape.hash: hashed,
            shape.check: check,
            shape.kind: f"CAST({int(Kind.ROW)} AS TINYINT)",
        }
        on_time = self._on_time(kept)

        def beside(rows: DataFrame, lane: str) -> DataFrame:
            kept_rows = rows if on_time is None else rows.where(on_time)
            return self.with_states(running, kept, kept_rows, lane)

        # Rows move once, each lane is a task: there is nothing to adapt to.
        tasks = running.batch.lanes
        return Wanted(columns=columns, counted=on_time, beside=beside, tasks=tasks)

    def with_states(
        self, running: Running, kept: KeyedKept, rows: DataFrame, lane: str
    ) -> DataFrame:
        """Return rows that know their lane beside a mark for every lane, and moving states."""
        shape, manifest = self.shape, kept.manifest
        session, lanes = running.session, running.batch.lanes
        marks = session.range(0, lanes, 1, 1).selectExpr(
            f"CAST(id AS INT) AS {lane}",
            f"{_FIRST_HASH} AS {shape.hash}",
            f"0L AS {shape.check}",
            f"CAST({int(Kind.MARK)} AS TINYINT) AS {shape.kind}",
        )
        rows = rows.unionByName(marks, allowMissingColumns=True)
        plan = _new_plan(running, manifest)
        if plan is not None:
            stacks = tuple(lane.files for lane in manifest.lanes)
            mover = Mover(running.store, shape, stacks, plan)
            moved = moved_rows(session, mover, running.slots).withColumnRenamed(shape.lane, lane)
            rows = rows.unionByName(moved, allowMissingColumns=True)
        return rows

    def pieces(self, running: Running, rows: Rows, kept: KeyedKept) -> DataFrame:
        """Return the lanes' results, and one record for each lane among them."""
        return self.on_lanes(running, rows, kept)

    def on_lanes(self, running: Running, rows: Rows, kept: KeyedKept) -> DataFrame:
        """Do the work on rows that are on their lanes, beside marks and moving states."""
        shape = self.shape
        work = self.work(running, kept)
        # A lane that is new starts empty; what old lanes had, they have sent.
        stacks = tuple(lane.files for lane in kept.manifest.lanes[: running.batch.lanes])
        plan = _new_plan(running, kept.manifest)
        task = LaneTask(running.store, running.number, shape, work, stacks, plan)
        named = rows.frame.withColumnRenamed(str(rows.lane), shape.lane)
        in_order = named.sortWithinPartitions(shape.hash, shape.check, shape.kind)
        return in_order.mapInArrow(shipped(task.__call__), self._piece_type(work.result))

    def results(
        self, running: Running, rows: Rows, kept: KeyedKept, seen: Observed | None
    ) -> Results:
        """Return the results among the pieces that Spark has committed."""
        result = self.work(running, kept).result
        found = running.piece(f"{running.number:010d}", self._piece_type(result))
        return Results(found.where("record IS NULL").drop("record").toDF(*result.names))

    def keep(self, running: Running, kept: KeyedKept, seen: Observed | None) -> Keeping[KeyedKept]:
        """Keep the files that the committed pieces name."""
        kind = self._piece_type(self.work(running, kept).result)
        found = running.texts(f"{running.number:010d}", kind, "record")
        records = {one["lane"]: one for one in map(json.loads, found)}
        before = kept.manifest
        plan = running.batch.plan
        assert plan is not None
        lanes = tuple(
            _lane_after(before, records[lane], lane) for lane in range(running.batch.lanes)
        )
        made = Manifest(
            lanes,
            plan.fingerprint,
            self.shape.key_type.json(),
            self.shape.state.json(),
        )
        replaced = {
            batch: names
            for batch, names in before.replaced.items()
            if batch > running.number - KEPT_BATCHES
        }
        replaced[running.number] = tuple(sorted(before.names - made.names))
        made = Manifest(made.lanes, made.plan, made.keys, made.state, replaced)
        moved = sum(one["arrived"] for one in records.values())
        moving = sum(one["moving_seconds"] for one in records.values())
        working = sum(one["seconds"] for one in records.values())
        cost = kept.cost.measured(moved, moving, working)
        watermark = (running.spark_watermark or 0) // 1000
        event = self._event(made, records, moved, moving, kept.cost, seen)
        keys = made.key_count
        kept = KeyedKept(made, watermark, cost)
        spent = key_seconds(one["function"] for one in records.values())
        times = lane_times([one["clock"] for one in records.values()], running.batch.lanes)
        move_cost = cost.of_all(keys)
        return Keeping(kept, event, move_cost=move_cost, keys=keys, spent=spent, times=times)

    def clean(self, checkpoint: Checkpoint, number: int, kept: KeyedKept) -> None:
        """Remove files that no state needs which can still be read, and those of lost attempts."""
        needed = kept.manifest.names.union(*kept.manifest.replaced.values())
        checkpoint.keep_keyed(number, needed)

    def _on_time(self, kept: KeyedKept, column: str | None = None) -> str | None:
        """Return the condition of rows that are not late, as SQL text.

        `column` is what the rows call the event time, if not as the shape does.
        """
        if self.event_time is None:
            return None
        time, behind = quoted(column or self.event_time), kept.watermark
        kind = self.shape.rows[self.event_time].dataType
        if isinstance(kind, T.StructType):
            # A window has Spark's watermark, too, and is late when its end is.
            time, kind = f"{time}.end", kind["end"].dataType
        zone = isinstance(kind, T.TimestampNTZType)
        limit = f"timestamp_millis({behind}L)"
        if zone:
            limit = f"timestampadd(MILLISECOND, {behind}L, TIMESTAMP_NTZ'1970-01-01 00:00:00')"
        return f"coalesce({time} > {limit}, true)"

    def _piece_type(self, result: T.StructType) -> T.StructType:
        names = piece_names(len(result.fields))
        kinds = [*(field.dataType for field in result.fields), T.StringType()]
        return T.StructType(
            [T.StructField(name, kind, True) for name, kind in zip(names, kinds, strict=True)]
        )

    def _event(
        self,
        made: Manifest,
        records: Mapping[int, dict[str, Any]],
        moved: int,
        moving: float,
        cost: Cost,
        seen: Observed | None,
    ) -> dict[str, Any]:
        late = 0
        if seen is not None and seen.loads is not None:
            late = max(0, seen.rows - round(float(seen.loads.sum())))
        return {
            "late_rows": late,
            "state": {
                "keys": made.key_count,
                "bytes": sum(lane.size for lane in made.lanes),
                "files": len(made.names),
                "changed": sum(one["changed"] for one in records.values()),
                "timed_out": sum(one["timed_out"] for one in records.values()),
                "moved_keys": moved,
                "moved_bytes": sum(one["arrived_bytes"] for one in records.values()),
                "moving_seconds": round(moving, 6),
                "moving_cost": cost.in_batches(moving),
                "lane_seconds": [
                    round(records[lane]["seconds"], 6) for lane in range(len(made.lanes))
                ],
                "function_seconds": [
                    records[lane]["function"]["seconds"] for lane in range(len(made.lanes))
                ],
            },
        }


def _new_plan(running: Running, manifest: Manifest) -> str | None:
    """Return the plan as text, if states were laid out by another one."""
    plan = running.batch.plan
    assert plan is not None
    changed = manifest.plan not in ("", plan.fingerprint) and manifest.names
    return plan.to_json() if changed else None


def _lane_after(before: Manifest, record: dict[str, Any], lane: int) -> LaneState:
    had = before.lanes[lane].keys if lane < len(before.lanes) else 0
    files = tuple(map(LaneFile.from_record, record["files"]))
    return LaneState(files, had + int(record["keys"]))
