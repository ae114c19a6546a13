"""A stream with its operation, ready to start: where results go, when batches run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.streaming import StreamingQuery

from trimtab._checks import one_of
from trimtab.errors import InvalidArgument
from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.store.hadoop import HadoopStore
from trimtab.spark.columns import quoted
from trimtab.spark.row_hash import spread_text
from trimtab.spark.session_facts import is_connect
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.heartbeat import EVERY, with_heartbeat
from trimtab.spark.stream.operations.base import Operation
from trimtab.spark.stream.runner import BatchRunner
from trimtab.spark.stream.sinks import FunctionSink, MemorySink, ParquetSink, Sink, TableSink
from trimtab.spark.stream.sinks.with_batch_column import WithBatchColumn
from trimtab.spark.stream.windows.panes import microseconds

if TYPE_CHECKING:
    from trimtab.spark.stream.api import Stream


class Startable:
    """A stream with its operation, ready to start."""

    def __init__(
        self,
        origin: Stream,
        operation: Callable[[str], Operation[Any]],
        schema: T.StructType | None,
        columns: list[str] | None = None,
        sink: Sink | None = None,
    ) -> None:
        self._origin = origin
        self._columns = columns
        self._operation = operation
        self._schema = schema
        self._sink = sink

    def start(
        self,
        path: str | None = None,
        *,
        table: str | None = None,
        memory: str | None = None,
        function: Callable[[DataFrame, Batch], Any] | None = None,
        sink: Sink | None = None,
        output_mode: str = "append",
        batch_column: str | None = None,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> StreamingQuery:
        """Start the query and give Spark's own handle of it.

        Parameters
        ----------
        path, table, memory, function, sink
            Where results go, exactly one of them: a directory of Parquet files, a table in Parquet,
            a temporary view, a `function(results, batch)`, or any `Sink`; the first four are short
            for `ParquetSink`, `TableSink`, `MemorySink` and `FunctionSink`. With `for_each_batch`
            none of them.
        output_mode
            "append", "update" for windows that a batch has changed, or "complete" for all windows
            in every batch, where there is no watermark.
        batch_column
            Name of a further column with the number of the batch. In files and tables it is
            needed for "update" and "complete": of all versions of a window that of the latest
            batch holds. Without it a temporary view shows the latest batch alone in "complete".
        trigger
            Arguments of Spark's `DataStreamWriter.trigger`, such as
            `{"processingTime": "1 second"}` or `{"availableNow": True}`. Where something can be due
            without rows (timeouts, sessions), every trigger runs a batch, and the default is
            a second.
        name
            The query's name.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> latest = stream.apply(lambda rows: rows.tail(1), clicks.schema)
        >>> query = latest.start(tmp + "/latest", trigger={"availableNow": True})
        >>> query.awaitTermination()
        >>> sorted(row["user"] for row in spark.read.parquet(tmp + "/latest").collect())
        ['ann', 'bob']
        """
        origin = self._origin
        operation = self._operation(one_of("output_mode", output_mode, MODES))
        if output_mode == "complete" and not operation.completes:
            raise InvalidArgument("output_mode 'complete' is for aggregate and top; use 'append'")
        if output_mode == "update" and not operation.updates:
            raise InvalidArgument(
                "output_mode 'update' is for aggregate and for what keeps state; use 'append'"
            )
        self._check_versions(output_mode, batch_column, path=path, table=table, sink=sink)
        chosen = self._chosen(
            batch_column, path=path, table=table, memory=memory, function=function, sink=sink
        )
        if output_mode == "complete" and isinstance(chosen, MemorySink):
            chosen.latest_only = True
        triggered, interval = _trigger(
            EVERY if trigger is None and operation.needs_heartbeat else trigger
        )
        if origin._autoscale and interval is None:
            raise InvalidArgument(
                "autoscale needs a batch interval: give trigger={'processingTime': ...}"
            )
        zone = None
        if origin._keyed.added or operation.uses_time_zone:
            zone = origin._df.sparkSession.conf.get("spark.sql.session.timeZone")
        identity = {
            "keys": origin._key_identity,
            **operation.identity(),
            "batch_column": batch_column,
            "time_zone": zone,
        }
        place = Checkpoint(origin._checkpoint, identity, origin._df.sparkSession)
        if operation.keeps_state and isinstance(place.store, HadoopStore):
            raise InvalidArgument(
                f"checkpoint {place.uri!r} can only be opened through Hadoop, and the tasks that "
                "keep state per key cannot; give a directory that all machines share, or an object "
                "store's own address (s3://, gs://, abfss://)"
            )
        steering = origin._steering(operation.splits, operation.keeps_state)
        rows = origin._df
        if self._columns is not None and self._columns != rows.columns:
            rows = rows.select(*(quoted(name) for name in self._columns))
        if operation.needs_heartbeat:
            rows = with_heartbeat(rows, place.store, ends="availableNow" in triggered)
        runner = BatchRunner(
            *(place, steering, operation, rows.schema),
            keys=origin._keyed.names,
            hidden=origin._keyed.added,
            sink=chosen,
            interval=interval,
            names_keys=origin._names == "plain",
            spread=spread_text(rows),
            receivers=origin._receivers,
            has_watermark=any(
                "spark.watermarkDelayMs" in one.metadata for one in origin._df.schema.fields
            ),
        )
        if not is_connect(origin._df):
            runner.open()
        writer = rows.writeStream.foreachBatch(runner.__call__)
        writer = writer.option("checkpointLocation", place.for_spark)
        if name is not None:
            writer = writer.queryName(name)
        if triggered:
            writer = writer.trigger(**triggered)
        return writer.start()

    def progress(self) -> dict[str, Any] | None:
        """Return the event log's newest line, None before the first batch is done.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> counted = stream.for_each_batch(lambda rows, batch: rows.count())
        >>> counted.progress() is None
        True
        >>> counted.start(trigger={"availableNow": True}).awaitTermination()
        >>> counted.progress()["rows"]
        9
        """
        return self._origin.progress()

    def _check_versions(self, output_mode: str, batch_column: str | None, **where: Any) -> None:
        """Refuse to append versions of windows that nobody could tell apart."""
        if batch_column is not None:
            taken = [] if self._schema is None else self._schema.names
            known = {name.lower() for name in taken}
            if not isinstance(batch_column, str) or batch_column.lower() in ("", *known):
                raise InvalidArgument(
                    "batch_column must be a name that no column of the results has; got "
                    f"{batch_column!r}; they have {', '.join(map(repr, taken))}"
                )
            if self._sink is not None:
                raise InvalidArgument(
                    "for_each_batch is told the batch's number; leave batch_column out"
                )
        keeps_versions = where["path"] or where["table"] or isinstance(where["sink"], ParquetSink)
        if output_mode != "append" and keeps_versions and batch_column is None:
            raise InvalidArgument(
                f"output_mode {output_mode!r} writes a window again whenever it changes, and in "
                "files its versions could not be told apart; give batch_column='batch' and read "
                "the row of the latest batch of each window and key, or give a function that "
                "merges them"
            )

    def _chosen(self, batch_column: str | None, **given: Any) -> Sink:
        """Return the one sink that was given, prepared for the results."""
        named = [word for word, value in given.items() if value is not None]
        if self._sink is not None:
            if named:
                raise InvalidArgument(
                    f"for_each_batch writes what it wants itself; leave {named[0]!r} out"
                )
            return self._sink
        if len(named) != 1:
            raise InvalidArgument(
                f"give exactly one of {', '.join(given)} for the results; got "
                f"{' and '.join(named) or 'none'}"
            )
        (word,) = named
        sink = given[word] if word == "sink" else _SHORTHANDS[word](given[word])
        if not isinstance(sink, Sink):
            raise InvalidArgument(
                f"sink must be a trimtab.spark.Sink; got {sink!r} of type {type(sink).__name__}"
            )
        assert self._schema is not None  # only for_each_batch has none, and it brings its sink
        schema = self._schema
        if batch_column is not None:
            schema = T.StructType([*schema.fields, T.StructField(batch_column, T.LongType())])
            sink = WithBatchColumn(sink, batch_column)
        sink.prepare(schema, self._origin._df.sparkSession)
        return sink


MODES = ("append", "update", "complete")

_SHORTHANDS: dict[str, Callable[[Any], Sink]] = {
    "path": ParquetSink,
    "table": TableSink,
    "memory": MemorySink,
    "function": FunctionSink,
}


def _trigger(given: Mapping[str, Any] | None) -> tuple[dict[str, Any], float | None]:
    if given is None:
        return {}, None
    known = ("processingTime", "availableNow", "once")
    if not isinstance(given, Mapping) or len(given) != 1 or next(iter(given)) not in known:
        raise InvalidArgument(
            f"trigger must be one of {', '.join(known)} with its value, such as "
            f"{{'processingTime': '1 second'}}; got {given!r}"
        )
    interval = None
    if "processingTime" in given:
        interval = microseconds(given["processingTime"], "processingTime") / 1e6 or None
    return dict(given), interval
