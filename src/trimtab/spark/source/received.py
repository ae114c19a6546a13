"""The streaming frame on the logs of receivers."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from trimtab._checks import whole
from trimtab.errors import CorruptState, InvalidArgument, NotThere
from trimtab.receive.reading import LogReader
from trimtab.spark.session_facts import is_connect
from trimtab.spark.source.data_source import (
    FORMAT,
    HAS_LIMITS,
    LOGS,
    MAX_BATCHES,
    received_source,
)
from trimtab.spark.spark_text import raised_elsewhere

_REGISTERED = "_trimtab_source"
_LOGS_OF_FRAME = "_trimtab_logs"


def received(
    spark: SparkSession,
    logs: str | Path | Sequence[str | Path],
    max_batches: int | None = None,
) -> DataFrame:
    """Return the streaming frame on what a receiver has written to its log.

    A batch of the log comes as it was laid out when it arrived: each of its blocks is one input
    partition. `stream` on this frame, with the log's key, takes the keys and the plan of each batch
    from the receiver, and neither looks at it nor counts it. Once Spark has committed a batch, the
    receiver removes it: let one query read a log.

    Parameters
    ----------
    spark
        The session; from here on it also knows `format("trimtab")`, whose `load("LOG")` reads all
        that a log holds as an ordinary frame.
    logs
        Directory of a log, or of several with the same columns and key: one for each receiver. The
        driver and all executors must see it under this name. A query that starts again may be given
        more of them, never fewer.
    max_batches
        Batches of each log that a micro-batch takes at most; by default all that wait. Several that
        wait are read together, by as many tasks as one. Needs Spark 4.2.

    Examples
    --------
    >>> log = tmp + "/clicks"
    >>> with tt.receiver(log, schema="user string, n long", key="user", blocks=2) as clicks:
    ...     clicks.offer([{"user": name, "n": n} for n, name in enumerate(["ann", "bob", "ann"])])
    3
    >>> stream = tt.stream(tt.received(spark, log), "user", checkpoint=tmp + "/checkpoint")
    >>> def total(rows: pd.DataFrame) -> pd.DataFrame:
    ...     return rows.groupby("user", as_index=False).sum()
    >>> totals = stream.apply(total, "user string, n long")
    >>> totals.start(tmp + "/totals", trigger={"availableNow": True}).awaitTermination()
    >>> sorted(map(tuple, spark.read.parquet(tmp + "/totals").collect()))
    [('ann', 2), ('bob', 1)]
    >>> tt.events(tmp + "/checkpoint")[0]["look"]["how"]
    'told by the receiver'
    """
    paths = _paths(spark, logs)
    if max_batches is not None:
        whole("max_batches", max_batches, 1)
        if not HAS_LIMITS:
            raise InvalidArgument(
                f"max_batches needs Spark 4.2: Spark {spark.version} does not tell a source in "
                "Python where a batch begins; leave it out, or upgrade Spark"
            )
    if not is_connect(spark):
        LogReader(paths)
    register_source(spark)
    reader = spark.readStream.format(FORMAT).option(LOGS, json.dumps(paths))
    if max_batches is not None:
        reader = reader.option(MAX_BATCHES, str(max_batches))
    try:
        frame = reader.load()
        frame.schema  # noqa: B018 - on Connect, the server looks at the log now
    except PySparkException as error:
        told = raised_elsewhere(error)
        if told is None:
            raise
        kind = {"NotThere": NotThere, "CorruptState": CorruptState}.get(told[0], InvalidArgument)
        raise kind(told[1]) from error
    vars(frame)[_LOGS_OF_FRAME] = tuple(paths)
    return frame


def register_source(spark: SparkSession) -> None:
    """Make a session know `format("trimtab")`."""
    if not vars(spark).get(_REGISTERED):
        spark.dataSource.register(received_source())
        vars(spark)[_REGISTERED] = True


def logs_of(frame: DataFrame) -> tuple[str, ...]:
    """Return the logs that a frame has its rows from, as they are there; () for any other frame.

    A frame that was made of it, by a filter or a join, may have other rows: it is any frame.
    """
    found: tuple[str, ...] = vars(frame).get(_LOGS_OF_FRAME, ())
    return found


def _paths(spark: SparkSession, logs: str | Path | Sequence[str | Path]) -> list[str]:
    given = [logs] if isinstance(logs, (str, Path)) else list(logs)
    for path in given:
        if not isinstance(path, (str, Path)) or not str(path):
            raise InvalidArgument(
                f"logs must be the directory of a log or a list of them; got {path!r}"
            )
    if not given:
        raise InvalidArgument("logs must be the directory of a log or a list of them; got none")
    # On Connect paths are the server's, and so is the directory that they start from.
    return [str(path) if is_connect(spark) else os.path.abspath(path) for path in given]
