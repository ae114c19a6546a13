"""What a stream can do that keeps state per key: the methods of `Stream` for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import Column
from pyspark.sql import types as T

from trimtab._checks import one_of
from trimtab.errors import InvalidArgument
from trimtab.spark.columns import quoted
from trimtab.spark.stream.startable import Startable
from trimtab.spark.stream.state.apply_with_state import ApplyWithState
from trimtab.spark.stream.state.arrow_function import (
    EXISTS,
    ROW_OF_KEY,
    ApplyInArrowWithState,
)
from trimtab.spark.stream.state.conversions import (
    refuse_without_arrow,
    refuse_without_conversions,
)
from trimtab.spark.stream.state.duplicates import DropDuplicates
from trimtab.spark.stream.state.merging import refuse_other_types
from trimtab.spark.stream.state.running import RunningAggregate
from trimtab.spark.stream.state.session_aggregate import OUTPUT, SessionAggregate
from trimtab.spark.stream.state.sessions import MERGES
from trimtab.spark.stream.state.shape import WATERMARK, Shape, key_hashes
from trimtab.spark.stream.windows.aggregates import columns_read, read_aggregates
from trimtab.spark.stream.windows.panes import days_in, microseconds

if TYPE_CHECKING:
    from trimtab.spark.stream.api import Stream

TIMEOUTS = ("NoTimeout", "ProcessingTimeTimeout", "EventTimeTimeout")
"""Spark's kinds of timeouts."""


class StateMethods:
    """Methods of `Stream` that keep state per key."""

    @property
    def _stream(self) -> Stream:
        return cast("Stream", self)

    def apply_with_state(
        self,
        function: Callable[..., Any],
        output_schema: T.StructType | str,
        state_schema: T.StructType | str,
        *,
        timeout: str = "NoTimeout",
    ) -> Startable:
        """Apply a function of a key, its rows and its state, which lives from batch to batch.

        It is Spark's `groupBy(key).applyInPandasWithState(f, output, state, mode, timeout)`, with
        the same function: `f(key, rows, state)` takes the key as a tuple, its rows as an iterator
        of pandas frames and a `pyspark.sql.streaming.state.GroupState`, and gives an iterable of
        pandas frames. Where Spark fixes the place of a key's state when the query first starts,
        here hot keys get a place of their own while it runs, and their state follows them.

        Parameters
        ----------
        function
            The function. It is called once for each key that has rows in a batch, then once for
            each key that has timed out, with an empty frame and `state.hasTimedOut`.
        output_schema
            Type of what it gives.
        state_schema
            Type of the state: a tuple of these fields. Between two starts fields may be added that
            may be null.
        timeout
            "NoTimeout", "ProcessingTimeTimeout" or "EventTimeTimeout", as in Spark's
            `GroupStateTimeout`. The last needs `withWatermark` on the frame; late rows are dropped.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> def count(key, rows, state):
        ...     before = state.get[0] if state.exists else 0
        ...     total = before + sum(map(len, rows))
        ...     state.update((total,))
        ...     yield pd.DataFrame({"user": key, "clicks": [total]})
        >>> counts = stream.apply_with_state(count, "user string, clicks long", "clicks long")
        >>> counts.start(memory="totals", trigger={"availableNow": True}).awaitTermination()
        >>> sorted(map(tuple, spark.table("totals").collect()))
        [('ann', 6), ('bob', 3)]

        Notes
        -----
        With timeouts every trigger runs a batch, rows or not, as Spark does for timeouts in
        processing time; for those in event time Spark does when the watermark has moved. With
        `availableNow` a last batch without rows gives what became due with the last rows, as in
        Spark; with timeouts in processing time Spark's query would not end.
        """
        if not callable(function):
            raise InvalidArgument(
                f"apply_with_state takes a function of key, rows and state; got {function!r}"
            )
        one_of("timeout", timeout, TIMEOUTS)
        stream = self._stream
        refuse_without_conversions(stream._df.sparkSession)
        result, state = stream._parsed(output_schema), stream._parsed(state_schema)
        if not state.fields:
            raise InvalidArgument("state_schema must have at least one field; got none")
        watermark = watermark_column(stream)
        if timeout == "EventTimeTimeout" and watermark is None:
            raise InvalidArgument(
                "timeout 'EventTimeTimeout' needs a watermark; set one with "
                "df.withWatermark(column, delay) before tt.stream"
            )
        shape = state_shape(stream, state)
        refuse_without_arrow(result, "result column")

        def made(mode: str) -> ApplyWithState:
            names = stream._names == "plain"
            return ApplyWithState(function, result, timeout, shape, watermark, names)

        return Startable(stream, made, result)

    def apply_in_arrow_with_state(
        self,
        function: Callable[..., Any],
        output_schema: T.StructType | str,
        state_schema: T.StructType | str,
    ) -> Startable:
        """Apply a function of many keys at once, with rows and states as Arrow tables.

        Parameters
        ----------
        function
            `f(keys, rows, states)` gives `(results, states)`, all of them `pyarrow.Table`. `keys`
            and `states` have one row per key, in the same order; `states` has a further column
            `exists`. `rows` are all rows of these keys, those of a key together, with a further
            column `row_of_key`: the row of `keys` it belongs to. The states that are given back
            stand in the order of the keys; where they have a column `exists`, false removes.
            A lane's keys may come in several calls, each key in one.
        output_schema, state_schema
            Types of results and states.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> def count(keys, rows, states):
        ...     new = rows.group_by("row_of_key").aggregate([([], "count_all")])
        ...     new = new.sort_by("row_of_key")["count_all"]
        ...     n = pa.compute.add(states["n"].fill_null(0), new)
        ...     return keys.append_column("n", n), pa.table({"n": n})
        >>> counts = stream.apply_in_arrow_with_state(count, "user string, n long", "n long")
        >>> counts.start(memory="many", trigger={"availableNow": True}).awaitTermination()
        >>> sorted(map(tuple, spark.table("many").collect()))
        [('ann', 6), ('bob', 3)]
        """
        if not callable(function):
            raise InvalidArgument(
                "apply_in_arrow_with_state takes a function of keys, rows and states; got "
                f"{function!r}"
            )
        stream = self._stream
        result, state = stream._parsed(output_schema), stream._parsed(state_schema)
        shape = state_shape(stream, state)
        refuse_without_arrow(result, "result column")
        for taken, kind in ((ROW_OF_KEY, shape.rows), (EXISTS, state)):
            if taken in kind.names:
                raise InvalidArgument(f"a column may not be called {taken!r} here; rename it")
        return Startable(
            stream, lambda mode: ApplyInArrowWithState(function, result, shape), result
        )

    def drop_duplicates(self, within: object | None = None) -> Startable:
        """Give the first row of each key, and drop the others.

        Parameters
        ----------
        within
            How long after a row's event time its key counts as seen. It needs `withWatermark` on
            the frame; with the delay of that watermark it is Spark's
            `dropDuplicatesWithinWatermark`. By default for ever, as in Spark's `dropDuplicates`;
            where the column with the watermark is part of the key, until the watermark has passed
            it, and rows that come later than that are dropped.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> first = stream.drop_duplicates()
        >>> first.start(memory="first", trigger={"availableNow": True}).awaitTermination()
        >>> sorted(row["user"] for row in spark.table("first").collect())
        ['ann', 'bob']
        """
        stream = self._stream
        watermark = None
        micros = None if within is None else microseconds(within, "within")
        if within is not None:
            watermark = watermark_column(stream)
            if watermark is None:
                raise InvalidArgument(
                    "within needs a watermark; set one with df.withWatermark(column, delay) "
                    "before tt.stream"
                )
        shape = state_shape(stream, T.StructType([]))
        if within is None:
            watermark = watermark_among(shape)
        result = T.StructType(shape.shown)
        return Startable(stream, lambda mode: DropDuplicates(shape, watermark, micros), result)

    def running(self, **aggregates: Column | str) -> Startable:
        """Aggregate all rows that a key has had so far, without windows.

        It is Spark's `groupBy(key).agg(...)` of a stream in output mode "update": every batch
        gives the keys that had rows in it, with their aggregates from the beginning on. Spark
        combines the rows of a batch; no Python runs per key. Where the column with the watermark is
        part of the key, late rows are dropped and keys that it has passed are forgotten.

        Parameters
        ----------
        aggregates
            One call each of count, sum, avg, min, max, count_if, bool_and, bool_or, bit_and,
            bit_or or bit_xor, as a Column or as SQL text.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> counts = stream.running(n=F.count("*"))
        >>> query = counts.start(memory="all", output_mode="update", trigger={"availableNow": True})
        >>> query.awaitTermination()
        >>> sorted(map(tuple, spark.table("all").collect()))
        [('ann', 6), ('bob', 3)]
        """
        stream = self._stream
        keyed = stream._keyed
        names = keyed.key.names
        for name in aggregates:
            if name in names:
                raise InvalidArgument(
                    f"{name!r} names both an aggregate and a key column; rename one"
                )
        whole = stream._df.sparkSession.createDataFrame([], stream._df.schema)
        read = read_aggregates(whole, aggregates)
        refuse_other_types(read)
        columns = columns_read(whole, aggregates, keyed.names)
        refuse_routers(stream)
        refuse_without_arrow(whole.select(*map(quoted, keyed.names)).schema, "key column")
        blank = whole.select(*(quoted(name) for name in columns))

        def made(mode: str) -> RunningAggregate:
            if mode != "update":
                raise InvalidArgument(
                    "running aggregates change with every batch; use output_mode='update'"
                )
            return RunningAggregate(read, keyed.names, names, blank)

        return Startable(stream, made, made("update").result_schema(blank), columns)

    def sessions(self, *, time: str, gap: object, **aggregates: Column | str) -> Startable:
        """Aggregate by key and session: rows that follow each other within a gap of event time.

        It is Spark's `groupBy(key, session_window(time, gap)).agg(...)` in output mode "append": a
        session comes out when the watermark has passed its end. The columns are `session_window`
        (start, end), the key columns and the aggregates by name.

        Parameters
        ----------
        time
            Event-time column, with a watermark that `withWatermark` has set on the frame.
        gap
            How long nothing must come for a session to end. As in Spark a day of it ends at the
            same hour of the clock, however many hours that takes in the session's time zone.
        aggregates
            One call each of count, sum, avg, min, max, count_if, bool_and or bool_or, as a Column
            or as SQL text.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> timed = clicks.withWatermark("ts", "10 seconds")
        >>> stream = tt.stream(timed, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> visits = stream.sessions(time="ts", gap="5 minutes", clicks=F.count("*"))
        >>> visits.start(memory="visits", trigger={"availableNow": True}).awaitTermination()
        >>> spark.table("visits").columns
        ['session_window', 'user', 'clicks']
        """
        stream = self._stream
        keyed = stream._keyed
        names = keyed.key.names
        if time != watermark_column(stream):
            raise InvalidArgument(
                f"time must be the column with the watermark; got {time!r}; set it with "
                "df.withWatermark(column, delay) before tt.stream"
            )
        length = microseconds(gap, "gap")
        if length <= 0:
            raise InvalidArgument(f"gap must be longer than 0; got {gap!r}")
        for name in (*aggregates, *names):
            if name == OUTPUT or (name in aggregates and name in names):
                raise InvalidArgument(
                    f"{name!r} names two output columns; rename the key or the aggregate"
                )
        whole = stream._df.sparkSession.createDataFrame([], stream._df.schema)
        read = read_aggregates(whole, aggregates)
        refuse_other_types(read)
        for one in read:
            if any(part.merge not in MERGES for part in one.parts):
                raise InvalidArgument(
                    f"aggregate {one.name!r} is {one.text!r}, which sessions do not have; allowed "
                    "are count, sum, avg, min, max, count_if, bool_and and bool_or"
                )
        columns = columns_read(whole, aggregates, [*keyed.names, time])
        refuse_routers(stream)
        refuse_without_arrow(whole.select(*map(quoted, keyed.names)).schema, "key column")
        blank = whole.select(*(quoted(name) for name in columns))

        def made(mode: str) -> SessionAggregate:
            return SessionAggregate(time, length, days_in(gap), read, keyed.names, names, blank)

        return Startable(stream, made, made("append").result_schema(blank), columns)


def state_shape(stream: Stream, state: T.StructType) -> Shape:
    """Check that states can be kept for a stream's keys, and name the columns that takes."""
    names = [name.lower() for name in state.names]
    twice = next((name for name in state.names if names.count(name.lower()) > 1), None)
    if twice is not None:
        raise InvalidArgument(
            "state_schema must have fields each under a name of its own; got "
            f"{state.simpleString()}"
        )
    refuse_routers(stream)
    keyed = stream._keyed
    refuse_without_arrow(state, "state field")
    refuse_without_arrow(keyed.df.schema, "column")
    shape = Shape.of(keyed.df.schema, keyed.names, keyed.key.names, keyed.added, state)
    key_hashes([shape.rows[key] for key in shape.keys])
    return shape


def watermark_column(stream: Stream) -> str | None:
    """Return the column with Spark's watermark, None if there is none."""
    fields = stream._df.schema.fields
    return next((f.name for f in fields if WATERMARK in f.metadata), None)


def watermark_among(shape: Shape) -> str | None:
    """Return the key column that has Spark's watermark, None if none has."""
    return next((key for key in shape.keys if WATERMARK in shape.rows[key].metadata), None)


def refuse_routers(stream: Stream) -> None:
    """Refuse partitioners that decide row by row: state could not follow its keys."""
    given = stream._steering(split=False, keeps_state=True).partitioner
    if given.router is not None:
        raise InvalidArgument(
            f"partitioner {given.name!r} decides row by row, and state could not follow its keys; "
            "give a planner that keeps keys whole, such as 'trim', 'kip' or 'hash'"
        )
