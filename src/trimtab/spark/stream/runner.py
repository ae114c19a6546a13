"""One micro-batch from start to end: plan, record, run, remember, log.

The order makes every moment a safe one to die at. The plan is recorded before a row moves; results
become visible before the batch counts as done; the batch counts as done once its state is written.
A batch that is done is not run again, whatever Spark remembers of it; its line of the event log is
part of its state, so that a crash between the two loses no line.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from trimtab.errors import CorruptState
from trimtab.histogram import Histogram
from trimtab.journal import checkpoint
from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.event_log import EventLog
from trimtab.metrics import max_over_mean
from trimtab.spark.columns import quoted
from trimtab.spark.counting.observed import Observed, Watch, count_keys, stride_for
from trimtab.spark.routing.in_stream_tasks import gather
from trimtab.spark.stream.operations.base import Batch, Operation, Outcome, Task
from trimtab.spark.stream.sinks.base import Sink
from trimtab.spark.stream.steering import Memory, Route, Steering

HOTTEST = 5
"""Hot keys that the event log names."""


class BatchRunner:
    """The function that Spark calls for every micro-batch.

    Parameters
    ----------
    place
        The checkpoint.
    steering
        Chooses routes.
    operation
        What is done with the rows.
    schema
        Type of the rows.
    keys
        Names of the key columns.
    sink
        Where results go, None for an operation without any.
    interval
        Seconds between batches, if the trigger says so.
    """

    def __init__(
        self,
        place: Checkpoint,
        steering: Steering,
        operation: Operation,
        schema: T.StructType,
        keys: tuple[str, ...],
        sink: Sink | None,
        interval: float | None,
    ) -> None:
        self.checkpoint = place
        self.steering = steering
        self.operation = operation
        self.schema = schema
        self.keys = keys
        self.sink = sink
        self.interval = interval
        self.log = EventLog(place.root)
        self._opened = False

    def open(self) -> None:
        """Check checkpoint, event log and sink; every refusal names the file."""
        query = self.checkpoint.open()
        self.log.check()
        last = self.checkpoint.last_state()
        if last >= 0:
            self._memory_after(last)
            self._log_again(last)
        self.checkpoint.read_plan(last + 1)
        if self.sink is not None:
            self.sink.open(query)
        self._opened = True

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Run a batch, unless it is done."""
        started = time.perf_counter()
        if not self._opened:
            self.open()
        checkpoint.at("batch started", number)
        last = self.checkpoint.last_state()
        if last == number:
            return
        if last != number - 1:
            raise CorruptState(
                f"checkpoint {self.checkpoint.root} knows {last + 1} batches, but Spark asks for "
                f"batch {number}: Spark's part and ours do not belong together"
            )
        remembered: dict[str, Any] = {}
        reducer: dict[str, Any] | None = None
        memory = self.steering.start()
        if last >= 0:
            memory, remembered, reducer = self._memory_after(last)
        route, known = self._route(rows, number, memory)
        planned = time.perf_counter()
        checkpoint.at("plan written", number)
        outcome = self._run(rows, number, route, memory, remembered, known)
        if route.router is not None:
            reducer = self._gather(number, reducer)
        ran = time.perf_counter()
        memory = self.steering.learned(memory, route, outcome.seen, ran - started, self.interval)
        event = self._event(number, route, outcome)
        event["seconds"] = _seconds(started, planned, ran)
        self.checkpoint.write_state(
            number,
            {
                "steering": memory.state(),
                "operation": outcome.memory,
                "reducer": reducer,
                "event": event,
            },
        )
        checkpoint.at("state written", number)
        self.checkpoint.prune(number, set(outcome.panes))
        self.log.append({**event, "seconds": _seconds(started, planned, ran)})
        checkpoint.at("batch logged", number)

    def _log_again(self, number: int) -> None:
        """Log a batch that was done when its process ended, before its line was written."""
        logged = self.log.last()
        if logged is None or logged["batch"] < number:
            state = self.checkpoint.read_state(number)
            if state is not None:
                self.log.append(state["event"])

    def _memory_after(self, number: int) -> tuple[Memory, dict[str, Any], dict[str, Any] | None]:
        state = self.checkpoint.read_state(number)
        source = str(self.checkpoint.root / "state" / f"{number}.json")
        if state is None:
            raise CorruptState(f"{source} is missing; without it the stream cannot go on")
        try:
            memory = Memory.restore(state["steering"], source)
            if (memory.scaler is None) != (self.steering.scaler is None):
                memory.scaler = self.steering.scaler
            return memory, state["operation"], state["reducer"]
        except KeyError as error:
            raise CorruptState(f"{source} is damaged: it has no {error}") from error

    def _route(
        self, rows: DataFrame, number: int, memory: Memory
    ) -> tuple[Route, Histogram | None]:
        counted: list[Histogram] = []

        def count(hosts: int, top: int) -> Histogram:
            counted.append(count_keys(rows, [quoted(key) for key in self.keys], hosts, top))
            return counted[0]

        source = str(self.checkpoint.root / "plans" / f"{number}.json")
        record = self.checkpoint.read_plan(number)
        if record is not None:
            return Route.from_record(record["route"], source), self._known(memory, record)
        route = self.steering.route(memory, count)
        text = counted[0].to_json() if counted else None
        self.checkpoint.write_plan(number, {"route": route.to_record(), "counted": text})
        return route, counted[0] if counted else _newest(memory)

    def _known(self, memory: Memory, record: dict[str, Any]) -> Histogram | None:
        text = record.get("counted")
        return _newest(memory) if text is None else Histogram.from_json(text)

    def _run(
        self,
        rows: DataFrame,
        number: int,
        route: Route,
        memory: Memory,
        remembered: dict[str, Any],
        known: Histogram | None,
    ) -> Outcome:
        name = route.router if route.plan is None else route.plan.maker
        loads = None if route.plan is None or known is None else route.plan.loads(known)
        batch = Batch(number, route.lanes, route.plan, name or self.steering.name, known, loads)
        watch = Watch(
            route.lanes,
            self.steering.hosts(route),
            stride_for(memory.rows),
            count_pairs=route.router is not None,
        )
        task = Task(rows, self.schema, batch, route, self.keys, self.checkpoint, watch, self.sink)
        return self.operation.run(task, remembered)

    def _gather(self, number: int, reducer: dict[str, Any] | None) -> dict[str, Any] | None:
        place = self.checkpoint.directory
        before = place("routers", str(number - 1)) if number else None
        return gather(before, place("routers", str(number)), reducer)

    def _event(self, number: int, route: Route, outcome: Outcome) -> dict[str, Any]:
        seen = outcome.seen
        event: dict[str, Any] = {
            "batch": number,
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "partitioner": self.steering.name,
            "plan": None if route.plan is None else route.plan.fingerprint,
            "plan_version": route.version,
            "changed": route.changed,
            "reason": route.reason,
            "moved": round(route.moved, 6),
            "map_tasks": route.lanes,
            "reduce_tasks": route.reduce_tasks,
            "scaling": route.scaling,
            "late_rows": 0,
        }
        if seen is not None:
            event |= _figures(route, seen, outcome.event.get("rows_on_lanes", True))
        return event | outcome.event


def _seconds(started: float, planned: float, ran: float) -> dict[str, float]:
    done = time.perf_counter()
    return {
        "total": round(done - started, 4),
        "planning": round(planned - started, 4),
        "running": round(ran - planned, 4),
        "recording": round(done - ran, 4),
    }


def _newest(memory: Memory) -> Histogram | None:
    return list(memory.history)[-1] if len(memory.history) else None


def _figures(route: Route, seen: Observed, on_lanes: bool) -> dict[str, Any]:
    known = seen.histogram
    loads = seen.loads
    if loads is None and route.plan is not None:
        loads = route.plan.loads(known)
    loads = np.zeros(route.lanes) if loads is None else loads
    replication = 1.0
    if seen.pairs is not None and known.distinct:
        replication = max(1.0, seen.pairs / known.distinct)
    elif route.plan is not None and known.distinct:
        extra = int((np.diff(route.plan.starts) - 1).sum())
        replication = 1.0 + extra / max(known.distinct, len(route.plan))
    hottest = known.top(HOTTEST)
    return {
        "rows": seen.rows,
        "distinct_keys": known.distinct,
        "hottest": [
            {"key": hottest.label(int(key)), "share": round(float(share), 4)}
            for key, share in zip(hottest.hashes, hottest.shares, strict=True)
        ],
        "loads": [round(float(load), 1) for load in loads],
        "max_over_mean": round(max_over_mean(loads), 4) if loads.sum() else None,
        "replication": round(replication, 4),
        "bytes_moved": round(seen.row_bytes * seen.rows) if on_lanes else 0,
    }
