"""Methods of `Stream` that compute over event-time windows."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import Column
from pyspark.sql import types as T

from trimtab._checks import whole
from trimtab.errors import InvalidArgument
from trimtab.spark.spark_text import all_plans, filters_after_watermark, watermarks
from trimtab.spark.stream.startable import Startable
from trimtab.spark.stream.windows.aggregates import columns_read, read_aggregates
from trimtab.spark.stream.windows.combining import Top
from trimtab.spark.stream.windows.operation import WindowedAggregate
from trimtab.spark.stream.windows.panes import Windows
from trimtab.spark.stream.windows.segments import pays_to_carry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trimtab.spark.stream.api import Stream

MOST_RANKS = 100_000
"""Ranks that `top` gives at most: more than that is a sorted table, not a top."""


class WindowMethods:
    """Methods of `Stream` that compute over event-time windows."""

    @property
    def _origin(self) -> Stream:
        return cast("Stream", self)

    def aggregate(
        self,
        *,
        time: str,
        window: object,
        slide: object | None = None,
        watermark: object | None = None,
        start_time: object | None = None,
        **aggregates: Column | str,
    ) -> Startable:
        """Aggregate by key and event-time window.

        The output columns are `window` (start, end), the key columns and the aggregates by name.
        Results equal those of Spark's own `window()`, bit for bit where the aggregate is exact.

        Parameters
        ----------
        time
            Event-time column.
        window, slide
            Length of a window, and distance between two; without a slide windows do not overlap.
            Rows are aggregated into panes of length gcd(window, slide), once. Counts, sums and
            averages then slide by an inverse function; others are merged, as are sums of doubles
            where a window is less than eight slides. Sums of panes of doubles are added and taken
            back exactly, and rounded once: what a window is wrong by is what adding up the rows of
            each of its panes is wrong by, and 2^-51 of the result. More than 1,000,000 panes per
            window are refused.
        watermark
            How far event times may fall behind the latest one. A row all of whose windows have
            ended by then is counted as late and dropped. Raising it waits longer and keeps more; it
            may change when the query starts again. By default what `withWatermark` has set on the
            time column. Of several inputs it is the slowest, as Spark has it, and where the frame
            filters by that column afterwards it is that of the rows before; in both cases a window
            is shown a batch later. Without either nothing is dropped, no window ever ends, and
            `output_mode` must be "update" or "complete".
        start_time
            How long after 1970-01-01 00:00 UTC, and every slide from there, a window starts; it is
            shorter than the slide, and may be negative.
        aggregates
            One call each, as a Column or as SQL text, of count, sum, avg, min, max, count_if,
            bool_and, bool_or, bit_and, bit_or or bit_xor; or, of plain columns, of min_by, max_by,
            first, last (by event time), stddev, variance, covariance, corr, count(DISTINCT),
            collect_list, collect_set (up to 10,000 values of a key in a window), and of sketches:
            approx_count_distinct (standard error 1.6 %), approx_percentile (0.4 % of the rank; NaN
            is no value), approx_top_k.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> counts = stream.aggregate(
        ...     time="ts", window="1 minute", slide="30 seconds", watermark="1 hour", n="count(*)"
        ... )
        >>> query = counts.start(
        ...     memory="sliding", output_mode="update", trigger={"availableNow": True}
        ... )
        >>> query.awaitTermination()
        >>> ends = spark.table("sliding").selectExpr("date_format(window.end, 'm:ss')", "user", "n")
        >>> sorted(map(tuple, ends.collect()))
        [('0:30', 'ann', 6), ('0:30', 'bob', 3), ('1:00', 'ann', 6), ('1:00', 'bob', 3)]
        """
        delay = _delay(self._origin, time, watermark)
        durations = Windows.of(window, slide, delay, start_time)
        return _windowed(self._origin, time, watermark, durations, aggregates, None)

    def top(
        self,
        k: int,
        *,
        time: str,
        window: object,
        slide: object | None = None,
        watermark: object | None = None,
        start_time: object | None = None,
        by: Column | str = "count(*)",
        name: str = "n",
    ) -> Startable:
        """Return the keys with the highest values of each event-time window.

        The output columns are `window` (start, end), `rank` from 1 on, the key columns and the
        value. It is exact. Of keys with equal values the lesser key comes first. A window is shown
        once, when the watermark passes its end.

        Parameters
        ----------
        k
            Number of keys, 1 to 100,000.
        time, window, slide, watermark, start_time
            As in `aggregate`.
        by
            The aggregate whose highest values are wanted; by default the number of rows.
        name
            Name of the column with its value.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> top = stream.top(1, time="ts", window="1 second", watermark="0 seconds")
        >>> top.start(memory="top", trigger={"availableNow": True}).awaitTermination()
        >>> spark.table("top").columns
        ['window', 'rank', 'user', 'n']
        """
        count = whole("k", k, 1, MOST_RANKS)
        if not isinstance(name, str) or name.lower() == "rank":
            raise InvalidArgument(f"name must be a column name other than 'rank'; got {name!r}")
        delay = _delay(self._origin, time, watermark)
        durations = Windows.of(window, slide, delay, start_time)
        top = Top(count, name)
        return _windowed(self._origin, time, watermark, durations, {name: by}, top)


def _delay(stream: Stream, time: object, watermark: object | None) -> object | None:
    """Return the watermark that was given, or the one that Spark has noted on the time column."""
    schema = stream._df.schema
    if not isinstance(time, str) or time not in schema.names:
        raise InvalidArgument(
            f"time must be a column of the frame; got {time!r}; it has "
            f"{', '.join(map(repr, schema.names))}"
        )
    if not isinstance(schema[time].dataType, T.TimestampType | T.TimestampNTZType):
        raise InvalidArgument(
            f"time column {time!r} is of type {schema[time].dataType.simpleString()}; it must "
            "be a timestamp: cast it first"
        )
    noted = schema[time].metadata.get("spark.watermarkDelayMs")
    if watermark is not None or noted is None:
        return watermark
    return timedelta(milliseconds=int(noted))


def _windowed(
    stream: Stream,
    time: str,
    watermark: object | None,
    durations: Windows,
    aggregates: Mapping[str, Any],
    top: Top | None,
) -> Startable:
    df = stream._df
    follows_spark = False
    if watermark is None and durations.delay is not None:
        # Several inputs, each with a watermark of its own, or rows that a filter has left out
        # since: only Spark knows how far they have come.
        plans = all_plans(df)
        follows_spark = watermarks(plans) > 1 or filters_after_watermark(plans)
    shown = tuple(stream._keyed.key.names)
    taken = ["window"] if top is None else ["window", "rank"]
    for name in (*shown, *aggregates):
        # Spark tells columns apart without regard to case, and so do tables that it writes.
        if name.lower() in taken:
            raise InvalidArgument(
                f"{name!r} names two output columns, in any case of letters; rename the key or the "
                f"aggregate: a result has {', '.join(map(repr, taken))} before it"
            )
        taken.append(name.lower())
    # Looked at on a blank frame: batches have the columns of the stream, not its identity.
    blank = df.sparkSession.createDataFrame([], df.schema)
    read = read_aggregates(blank, aggregates, time, taken_back=pays_to_carry(durations, 0, 0))
    columns = columns_read(blank, aggregates, [*stream._keyed.names, time])
    rows = df.schema
    if columns != df.schema.names:
        rows = T.StructType([df.schema[name] for name in columns])

    def made(mode: str) -> WindowedAggregate:
        _check_mode(mode, durations, top)
        return WindowedAggregate(
            *(time, durations, read, mode, rows),
            keys=stream._keyed.names,
            names=shown,
            layout=stream._layout,
            follows_spark=follows_spark,
            top=top,
        )

    blank_mode = "append" if durations.delay is not None else "complete"
    return Startable(stream, made, made(blank_mode).result_schema(df.sparkSession), columns)


def _check_mode(mode: str, durations: Windows, top: Top | None) -> None:
    if mode == "append" and durations.delay is None:
        raise InvalidArgument(
            "output_mode 'append' shows a window when the watermark passes its end, and "
            "there is none; give watermark='30 seconds', for instance, or set it with "
            "withWatermark, or use output_mode='update'"
        )
    if mode == "complete" and durations.delay is not None:
        raise InvalidArgument(
            "output_mode 'complete' shows every window in every batch, and a watermark lets "
            "windows go; leave the watermark out, or use output_mode='update'"
        )
    if mode == "update" and top is not None:
        raise InvalidArgument(
            "top knows who is ahead in a window, not which rows changed; use output_mode='append', "
            "or 'complete' without a watermark"
        )
