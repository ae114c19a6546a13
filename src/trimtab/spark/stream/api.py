"""Streams on level lanes: a fresh plan for every micro-batch, windows by panes, exactly once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab._checks import lanes_or_auto, one_of
from trimtab.control.autoscale import AutoScaler
from trimtab.errors import InvalidArgument
from trimtab.histogram import NAMES
from trimtab.journal.event_log import EventLog
from trimtab.journal.store import store
from trimtab.partitioners import Given
from trimtab.spark.columns import Keys, key_columns
from trimtab.spark.counting.observed import RESERVED
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.session_facts import slots_of
from trimtab.spark.source.received import logs_of
from trimtab.spark.spark_text import complaint
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.operations.apply import Apply
from trimtab.spark.stream.operations.for_each_batch import ForEachBatch
from trimtab.spark.stream.received_batch import Receivers
from trimtab.spark.stream.sinks import FunctionSink
from trimtab.spark.stream.startable import Startable
from trimtab.spark.stream.state.methods import StateMethods
from trimtab.spark.stream.steering import Steering
from trimtab.spark.stream.windows.methods import WindowMethods


def stream(
    df: DataFrame,
    key: Keys,
    lanes: int | str = "auto",
    partitioner: Given = "trim",
    checkpoint: str | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    look: str = "auto",
    layout: str = "auto",
    autoscale: bool | Mapping[str, Any] = False,
    names: str = "plain",
    seed: int = 0,
    least_gain: float | None = None,
    horizon: float | None = None,
    budget: float | None = None,
    weigh_by: str = "auto",
) -> Stream:
    """Begin a stream that is kept level batch by batch.

    Each micro-batch gets a plan: made from a quick look at its own keys where that is expected to
    pay, otherwise from what earlier batches have shown while they ran; on the log of a receiver, of
    the same key, from what that has counted (see `received`). The plan changes when that
    pays. Everything is recorded under the batch's id before it happens, so that a restart after any
    crash gives every result once.

    Parameters
    ----------
    df
        A streaming frame, from any source.
    key
        Key column or columns, by name or as expressions.
    lanes
        Number of lanes: tasks that share the rows of a batch. "auto" begins with one for each task
        slot, measures how long lanes take on each machine, and has more where machines differ, of
        two sizes where no state hangs on them: who is free takes the next one. Routers keep the
        number that they began with.
    partitioner, parameters
        Registry name with the parameters of the class it names, or a planner, router or plan.
        Planners run in Spark's own code; routers decide row by row in Python kernels, carry their
        state from batch to batch, and share it through files in the checkpoint; a router that has
        learned something starts from that. `prompt` counts the keys of each batch first, all of
        them. `{"capacities": "measured"}`, for `trim`, `kip` and `prompt`, gives each lane a share
        by the speed that was measured of it, where something binds lanes to machines.
    checkpoint
        Where plans, states, panes, the event log and Spark's own checkpoint are kept: a directory
        that driver and executors share, or an address such as `s3a://bucket/ck`, `gs://`,
        `abfss://`, `hdfs:/ck` or `dbfs:/mnt/ck`. A query that starts again with it goes on where it
        was.
    look
        Whether the keys of a batch are looked at before its rows move. "auto" looks at the first
        batch, and then wherever the seconds that a surprise is expected to cost are more than those
        of a look; both are measured on this stream. "always" and "never" say it for good. A look
        counts a sample of some 6,000 rows per lane. Rows are computed once and kept for it, or
        their keys are computed twice: whichever was found to cost less.
    layout
        Where `aggregate` combines rows. "lanes": on their lanes, one shuffle of all rows.
        "source": in the tasks that read them, so that only partial results travel. "auto" moves
        rows only while the source's own partitions are lopsided, or for `prompt`.
    autoscale
        Whether lanes and reduce tasks follow the load: the time of whole triggers against the time
        in which their rows arrived. A mapping gives parameters of
        `trimtab.control.autoscale.AutoScaler`.
    names
        Whether the event log and the checkpoint name hot keys as they are, or by their "hash": keys
        can be personal data.
    seed
        For routers.
    least_gain, horizon, budget
        When state moves that lives with keys: by how much `max/mean` must fall at least, over how
        many batches a move has to pay for itself, and which share of the weight may move in one
        change; see `trimtab.control.repartitioner.Repartitioner`. What moving costs is measured.
    weigh_by
        What is levelled where a function keeps state. "auto": rows, or the seconds that it takes
        for each key, once these were measured and tell something else; plans then follow from the
        clock, and two runs may differ in them. "rows": rows for good.

    Examples
    --------
    >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
    >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
    >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
    >>> counts = stream.aggregate(time="ts", window="1 minute", clicks=F.count("*"))
    >>> query = counts.start(memory="counts", output_mode="update", trigger={"availableNow": True})
    >>> query.awaitTermination()
    >>> sorted(map(tuple, spark.table("counts").select("user", "clicks").collect()))
    [('ann', 6), ('bob', 3)]

    Notes
    -----
    On Spark Connect everything works through `foreachBatch`, which runs in a Python process beside
    the server: paths are the server's, `progress()` and the live view need to see the checkpoint,
    mistakes in checkpoint files show in the query instead of at `start`, and the `memory` sink is
    not offered.
    """
    if not isinstance(df, DataFrame):
        raise InvalidArgument(f"expected a streaming DataFrame; got {type(df).__name__}")
    if not df.isStreaming:
        raise InvalidArgument(
            "expected a streaming DataFrame, as spark.readStream gives it; this one is not: use "
            "trimtab.spark.repartition or group_by"
        )
    if checkpoint is None:
        raise InvalidArgument("give a checkpoint directory: without it a restart would lose rows")
    for name in df.columns:
        if name.lower().startswith(RESERVED):
            raise InvalidArgument(
                f"column {name!r} has a name that streams keep for themselves; rename it"
            )
    count = lanes_or_auto(lanes)
    one_of("layout", layout, ("auto", "lanes", "source"))
    one_of("names", names, NAMES)
    keys = key_columns(df, key)
    keyed = KeyedFrame.of(df, keys)
    if not isinstance(autoscale, (bool, Mapping)):
        raise InvalidArgument(
            "autoscale must be True, False or a mapping of AutoScaler's parameters, such as "
            f"{{'batches': 2}}; got {autoscale!r}"
        )
    judge = {"least_gain": least_gain, "horizon": horizon, "budget": budget}
    return Stream(
        keyed,
        keys.identity,
        count,
        partitioner,
        checkpoint,
        parameters,
        look,
        layout,
        autoscale,
        names,
        seed,
        {name: value for name, value in judge.items() if value is not None},
        weigh_by,
        # Only plain columns of the log can be what its receiver has counted.
        () if keyed.added else logs_of(df),
    )


def events(checkpoint: str, session: SparkSession | None = None) -> list[dict[str, Any]]:
    """Return what a stream's event log says of its batches, the oldest first.

    It only reads: the stream may run in another process, or be over.

    Parameters
    ----------
    checkpoint
        The stream's checkpoint: a directory or an address.
    session
        Only needed for places that are opened by a session's settings or through Hadoop; by
        default the active one.

    Examples
    --------
    >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
    >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
    >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
    >>> counted = stream.for_each_batch(lambda rows, batch: rows.count())
    >>> counted.start(trigger={"availableNow": True}).awaitTermination()
    >>> [(event["batch"], event["rows"]) for event in tt.events(tmp + "/checkpoint")]
    [(0, 9)]
    """
    return list(EventLog(store(checkpoint, session or SparkSession.getActiveSession())).events())


class Stream(StateMethods, WindowMethods):
    """A stream with its key, before and after an operation is chosen; made by `stream`."""

    def __init__(
        self,
        keyed: KeyedFrame,
        key_identity: list[list[str]],
        lanes: int | None,
        partitioner: Given,
        checkpoint: str,
        parameters: Mapping[str, Any] | None,
        look: str,
        layout: str,
        autoscale: bool | Mapping[str, Any],
        names: str,
        seed: int,
        judge: Mapping[str, Any],
        weigh_by: str,
        logs: tuple[str, ...] = (),
    ) -> None:
        self._keyed = keyed
        self._key_identity = key_identity
        self._df = keyed.df
        self._auto = lanes is None
        if lanes is None:
            # A partitioner that is an object was made for its own number of lanes.
            lanes = getattr(partitioner, "lanes", None) or slots_of(self._df.sparkSession)
        self._lanes = lanes
        self._partitioner = partitioner
        self._checkpoint = checkpoint
        self._parameters = parameters
        self._look = look
        self._layout = layout
        self._autoscale = autoscale
        self._names = names
        self._seed = seed
        self._judge = judge
        self._weigh_by = weigh_by
        self._receivers = Receivers(logs, keyed.names, names)
        # Mistakes in names and parameters show here, not in the first batch.
        self._steering(split=True, keeps_state=True)
        store(checkpoint, self._df.sparkSession)

    def for_each_batch(self, function: Callable[[DataFrame, Batch], Any]) -> Startable:
        """Call `function(rows, batch)` for each micro-batch, its rows laid out on lanes.

        `batch` tells id, plan, statistics and loads; see `Batch`. Rows are routed again for every
        action on them: cache them if there are several.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> seen = []
        >>> def count(rows, batch):
        ...     seen.append((batch.id, rows.count()))
        >>> stream.for_each_batch(count).start(trigger={"availableNow": True}).awaitTermination()
        >>> seen
        [(0, 9)]
        """
        if not callable(function):
            raise InvalidArgument(f"for_each_batch takes a function(rows, batch); got {function!r}")
        return Startable(self, lambda mode: ForEachBatch(), None, sink=FunctionSink(function))

    def apply(self, function: Callable[..., Any], schema: T.StructType | str) -> Startable:
        """Apply a function to all rows of each key in a batch, as a pandas frame.

        As in Spark's `applyInPandas` the function takes `(rows)` or `(key, rows)` and gives a
        pandas frame of the type `schema`. Keys are not split.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> def size(key: tuple, rows: pd.DataFrame) -> pd.DataFrame:
        ...     return pd.DataFrame({"user": key, "clicks": len(rows)})
        >>> sizes = stream.apply(size, "user string, clicks long")
        >>> sizes.start(memory="sizes", trigger={"availableNow": True}).awaitTermination()
        >>> sorted(map(tuple, spark.table("sizes").collect()))
        [('ann', 6), ('bob', 3)]
        """
        if not callable(function):
            raise InvalidArgument(f"apply takes a function of a pandas frame; got {function!r}")
        kind = self._parsed(schema)
        self._steering(split=False)
        return Startable(self, lambda mode: Apply(function, kind), kind)

    def progress(self) -> dict[str, Any] | None:
        """Return the event log's newest line, None before the first batch is done.

        Examples
        --------
        >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
        >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
        >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
        >>> counted = stream.for_each_batch(lambda rows, batch: rows.count())
        >>> counted.start(trigger={"availableNow": True}).awaitTermination()
        >>> line = stream.progress()
        >>> line["batch"], line["rows"]
        (0, 9)
        """
        return EventLog(store(self._checkpoint, self._df.sparkSession)).last()

    def _parsed(self, schema: T.StructType | str) -> T.StructType:
        if isinstance(schema, T.StructType):
            return schema
        try:
            kind: T.StructType = self._df.sparkSession.createDataFrame([], schema).schema
        except (ParseException, TypeError, ValueError) as error:
            raise InvalidArgument(
                f"schema {schema!r} cannot be read: {complaint(error)}"
            ) from error
        return kind

    def _steering(self, split: bool, keeps_state: bool = False) -> Steering:
        scaler = None
        if self._autoscale:
            given = dict(self._autoscale) if isinstance(self._autoscale, Mapping) else {}
            try:
                scaler = AutoScaler(
                    **{"map_tasks": self._lanes, "reduce_tasks": self._lanes, **given}
                )
            except TypeError as error:
                raise InvalidArgument(f"autoscale takes AutoScaler's parameters: {error}") from None
        return Steering(
            self._partitioner,
            self._lanes,
            split=split,
            parameters=self._parameters,
            seed=self._seed,
            scaler=scaler,
            look=self._look,
            judge=self._judge if keeps_state else None,
            weigh_by=self._weigh_by,
            auto=self._auto,
        )
