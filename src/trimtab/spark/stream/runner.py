"""One micro-batch from start to end: steer, record, run, show, keep, log.

The order makes every moment a safe one to die at. The course is recorded before a row moves;
results become visible before the batch counts as done; it counts as done once its state is written.
A batch that is done is not run again, whatever Spark remembers of it; its line of the event log is
part of its state, so that a crash between the two loses no line.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from trimtab.control.machines import LaneTimes
from trimtab.errors import CorruptState
from trimtab.histogram import Histogram
from trimtab.journal import moments
from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.event_log import EventLog
from trimtab.journal.spark_offsets import Offsets, read_offsets
from trimtab.spark.counting.observed import Observed, Watch, rows_foretold, stride_for
from trimtab.spark.counting.task_records import TaskRecords
from trimtab.spark.executors import ask_for_slots
from trimtab.spark.routing.compiled import MOST_INLINE_KEYS
from trimtab.spark.routing.task_states import TaskStates
from trimtab.spark.session_facts import task_slots
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.batch_keys import BatchKeys
from trimtab.spark.stream.course import Course
from trimtab.spark.stream.event import event_of
from trimtab.spark.stream.lanes_told import event_of_lanes, times_of, why_untimed
from trimtab.spark.stream.laps import Laps
from trimtab.spark.stream.looking import TOLD
from trimtab.spark.stream.operations.base import Keeping, Operation, Running
from trimtab.spark.stream.past import Known, Past
from trimtab.spark.stream.pieces import Pieces
from trimtab.spark.stream.placing import Placing
from trimtab.spark.stream.planned_once import planned_once
from trimtab.spark.stream.received_batch import Receivers
from trimtab.spark.stream.scaling import Seconds, triggered
from trimtab.spark.stream.sinks.base import Sink
from trimtab.spark.stream.steering import Steering


@dataclass(frozen=True, eq=False)
class Done:
    """What came of a batch: its figures, its lanes' times, what is kept, what the log says."""

    seen: Observed | None
    times: LaneTimes | None
    keeping: Keeping[Any]
    event: dict[str, Any]


class BatchRunner:
    """The function that Spark calls for every micro-batch.

    Parameters
    ----------
    place
        The checkpoint.
    steering
        Chooses courses.
    operation
        Says what is done with the rows.
    schema
        Type of the rows.
    keys
        Names of the key columns.
    hidden
        Columns of ours among the rows.
    sink
        Where results go.
    interval
        Seconds between batches, if the trigger says so.
    names_keys
        Whether hot keys are named as they are; otherwise by their hash.
    spread
        What decides which fragment of a split key a row goes to, as SQL text; by default the hash
        of the row.
    receivers
        The logs that rows come from; by default they come from elsewhere.
    has_watermark
        Whether a column of the rows has Spark's watermark.
    """

    def __init__(
        self,
        place: Checkpoint,
        steering: Steering,
        operation: Operation[Any],
        schema: T.StructType,
        *,
        keys: tuple[str, ...],
        hidden: tuple[str, ...],
        sink: Sink,
        interval: float | None,
        names_keys: bool = True,
        spread: str | None = None,
        receivers: Receivers | None = None,
        has_watermark: bool = False,
    ) -> None:
        self.checkpoint = place
        self.steering = steering
        self.operation = operation
        self.schema = schema
        self.keys = keys
        self.hidden = hidden
        self.names_keys = names_keys
        self.placing = Placing(schema, keys, names_keys, spread)
        self.sink = sink
        self.interval = interval
        self.receivers = Receivers() if receivers is None else receivers
        self.has_watermark = has_watermark
        self.log = EventLog(place.store)
        self.past = Past(place, steering, operation, self.log)
        self._opened = False
        self._writes = False
        self._records = TaskRecords()

    def open(self) -> None:
        """Check checkpoint, event log and sink; every refusal names the file."""
        query = self.checkpoint.open()
        self.log.check()
        last = self.checkpoint.last_state()
        if last >= 0:
            self.past.known_after(last)
            self.past.check_router(last)
            self.past.log_again(last)
        self.checkpoint.read_plan(last + 1)
        self.sink.open(query)
        self._opened = True

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Run a batch, unless it is done."""
        started = time.perf_counter()
        if not self._opened:
            self.open()
        if not self._writes:
            self.checkpoint.take_over()
            self._writes = True
            moments.at("epoch taken", number)
        moments.at("batch started", number)
        last = self.checkpoint.last_state()
        offsets = read_offsets(self.checkpoint.store, number)
        if last == number:
            self.past.check_content(number, self.checkpoint.read_state(number), "state", offsets)
            if self.has_watermark:
                # It is done, but Spark does not know: its watermark follows from rows that are
                # read, and would stay behind by a batch.
                rows.write.format("noop").mode("overwrite").save()
            return
        if last != number - 1:
            raise CorruptState(
                f"checkpoint {self.checkpoint.uri} knows {last + 1} batches, but Spark asks for "
                f"batch {number}: Spark's part and ours do not belong together"
            )
        known = self.past.known_after(last)
        keys = BatchKeys(
            *(rows, self.keys),
            names_keys=self.names_keys,
            partitions=known.steering.partitions,
            told=self.receivers.told(self.checkpoint.store, number, offsets),
        )
        try:
            self._run_and_record(keys, number, known, offsets, started)
        finally:
            keys.release()

    def _run_and_record(
        self, keys: BatchKeys, number: int, known: Known, offsets: Offsets | None, started: float
    ) -> None:
        """Run a batch that is not done, and record that it is."""
        rows = keys.rows
        course, histogram = self._course(keys, number, known, offsets)
        planned = time.perf_counter()
        moments.at("plan written", number)
        laps = Laps(started)
        laps.end("planning")
        tasks = self._task_states(number, course, known, rows)
        done = self._run(rows, number, course, histogram, known, offsets, tasks, laps)
        reducer, routers = None, None
        if tasks is not None and course.route.router is not None:
            reducer = known.reducer if course.routers_go_on else None
            took_so_far = time.perf_counter() - planned
            reducer, routers = tasks.gather(
                type(course.route.router), reducer, took_so_far, done.times
            )
            moments.at("routers gathered", number)
        ran = time.perf_counter()
        slots = self._slots(rows, course.route.lanes)
        took = Seconds(
            *(ran - started, ran - planned, self.interval, slots / course.route.lanes),
            *triggered(offsets, ran - started),
        )
        state = (done.keeping.keys, done.keeping.move_cost)
        steering = self.steering.learned(
            *(known.steering, course, done.seen, took, state),
            spent=done.keeping.spent,
            times=done.times,
        )
        if steering.scaler is not None:
            asked = ask_for_slots(rows.sparkSession, steering.scaler.map_tasks)
            steering.scaling += f"; {asked}" if asked else ""
        lanes = event_of_lanes(done.times, steering.machines, course, done.seen, reducer)
        event = {**done.event, **lanes, "seconds": laps.to_event(planned=planned, ran=ran)}
        panes = known.pieces.kept(done.keeping.pieces)
        self.checkpoint.write_state(
            number,
            {
                "steering": steering.state(),
                "operation": done.keeping.kept.state(),
                "reducer": reducer,
                "routers": None if routers is None else routers.to_record(),
                "panes": panes,
                "event": event,
                "sources": None if offsets is None else list(offsets.sources),
            },
        )
        moments.at("state written", number)
        if keys.told is not None:
            keys.told.note_seconds(took.before + took.total)
        self.checkpoint.prune(number, panes.values())
        self.operation.clean(self.checkpoint, number, done.keeping.kept)
        moments.at("cleaned up", number)
        laps.end("recording")
        self.log.append({**event, "seconds": laps.to_event(planned=planned, ran=ran)})
        moments.at("batch logged", number)

    def _course(
        self, keys: BatchKeys, number: int, known: Known, offsets: Offsets | None
    ) -> tuple[Course, Histogram | None]:
        """Choose and record the course of a batch, or read it if the batch has run before."""
        newest = known.steering.newest
        record = self.checkpoint.read_plan(number)
        if record is not None:
            self.past.check_content(number, record, "plans", offsets)
            source = f"{self.checkpoint.uri}/plans/{number}.json"
            text = record.get("counted")
            histogram = newest if text is None else Histogram.from_json(text)
            return Course.from_record(record["course"], source), histogram
        slots = self._slots(keys.rows, self.steering.partitioner.lanes)
        moves_rows = known.steering.scaler is not None or self.operation.moves_rows(
            known.operation, slots
        )
        course = self.steering.course(
            known.steering,
            keys.look,
            moves_rows=moves_rows,
            slots=task_slots(keys.rows.sparkSession),
            told=keys.told,
        )
        # Keys that no plan places one by one are known by their hosts.
        most = max(MOST_INLINE_KEYS, len(course.route.plan or ()))
        counted = None if keys.counted is None else keys.counted.top(most)
        text = None if counted is None else counted.to_json()
        sources = None if offsets is None else list(offsets.sources)
        self.checkpoint.write_plan(
            number, {"course": course.to_record(), "counted": text, "sources": sources}
        )
        return course, newest if counted is None else counted

    def _slots(self, rows: DataFrame, lanes: int) -> int:
        """Return how many of so many lanes are worked on at once, as far as can be told."""
        slots = task_slots(rows.sparkSession)
        return lanes if slots is None else min(slots, lanes)

    def _run(
        self,
        rows: DataFrame,
        number: int,
        course: Course,
        histogram: Histogram | None,
        known: Known,
        offsets: Offsets | None,
        tasks: TaskStates | None,
        laps: Laps,
    ) -> Done:
        """Do the work of a batch: pieces into the checkpoint, results into the sink."""
        operation, kept = self.operation, known.operation
        running = self._running(rows, number, course, histogram, offsets, known.pieces)
        wanted = operation.wants(running, kept)
        watch = Watch(
            course.route.lanes,
            0 if course.blocks else self.steering.hosts(course.route),
            stride_for(known.steering.rows or rows_foretold(rows)),
            count_pairs=course.route.router is not None,
        )
        placed = self.placing.placed(rows, course.route, wanted, watch, tasks)
        pieces = operation.pieces(running, placed, kept)
        seen = None
        self.checkpoint.check_epoch()
        if pieces is not None:
            if wanted.in_pieces:
                pieces = watch.on_groups(pieces, wanted.piece_keys, wanted.heavy_from)
            laps.end("preparing")
            with planned_once(running.session, wanted.tasks):
                known.pieces.write(pieces, f"{number:010d}")
            moments.at("panes written", number)
            seen = watch.read()
            named = seen.histogram.named("plain" if self.names_keys else "hash")
            seen = replace(seen, histogram=named)
            if course.blocks and histogram is not None:
                # The receiver has counted all rows; what keys are called, only the rows tell.
                counted = replace(histogram, labels=named.labels)
                blocks = np.array(course.blocks, dtype=float)
                seen = replace(seen, histogram=counted, source=blocks)
            laps.end("combining")
        results = operation.results(running, placed, kept, seen)
        self.checkpoint.check_epoch()
        laps.end("preparing")
        if pieces is None and self.sink.has(number):
            # The results are there, the figures are not: they died with the driver.
            placed.frame.write.format("noop").mode("overwrite").save()
        else:
            tasks_known = results.tasks if self.sink.by_spark_alone else None
            with planned_once(running.session, tasks_known):
                self.sink.write(results.frame, running.batch, running.session)
        moments.at("sink done", number)
        laps.end("showing")
        if pieces is None:
            seen = watch.read_if_used()
        keeping = operation.keep(running, kept, seen)
        for name, frame in keeping.written:
            known.pieces.write(frame, name)
            moments.at("further pieces written", number)
        laps.end("keeping")
        times = times_of(self._records, running, wanted, results, keeping)
        event = event_of(number, course, seen, on_lanes=wanted.on_lanes)
        event |= {**results.event, **results.counted(), **keeping.event}
        event |= why_untimed(running, wanted, seen, times)
        return Done(seen, times, keeping, event)

    def _running(
        self,
        rows: DataFrame,
        number: int,
        course: Course,
        histogram: Histogram | None,
        offsets: Offsets | None,
        kept: Pieces,
    ) -> Running:
        route, session = course.route, rows.sparkSession
        loads = None if route.plan is None or histogram is None else route.plan.loads(histogram)

        def pieces(names: Sequence[str], kind: T.StructType) -> DataFrame:
            return kept.read(session, names, kind)

        def piece(name: str, kind: T.StructType) -> DataFrame:
            return kept.read_together(session, name, kind)

        def texts(name: str, kind: T.StructType, column: str) -> list[str]:
            return kept.texts(session, name, kind, column)

        return Running(
            Batch(number, route.lanes, route.plan, route.name, histogram, loads),
            self.schema,
            self.keys,
            self.hidden,
            course.reduce_tasks,
            self._slots(rows, route.lanes),
            self.steering.partitioner.counts_batch_first or course.look.how == TOLD,
            bool(course.blocks),
            None if offsets is None else offsets.watermark * 1000,
            0 if offsets is None else offsets.time,
            self.checkpoint.store,
            session,
            pieces,
            piece,
            texts,
        )

    def _task_states(
        self, number: int, course: Course, known: Known, rows: DataFrame
    ) -> TaskStates | None:
        """Return where routers in tasks go on from and to; None if the batch has none."""
        if course.route.router is None:
            return None
        before = known.routers if course.routers_go_on else None
        folder = self.checkpoint.folder("routers", str(number))
        return TaskStates(self.checkpoint.store, before, folder, rows.sparkSession)
