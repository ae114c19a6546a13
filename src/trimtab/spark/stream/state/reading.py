"""The state of a stream's keys as a DataFrame, to look at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.errors import InvalidArgument
from trimtab.journal.keyed.entries import NO_TIMEOUT
from trimtab.journal.keyed.inspection import manifest_of
from trimtab.journal.keyed.lane_file import LaneFile
from trimtab.journal.keyed.stack import HELD, Stack
from trimtab.journal.store import Store, store
from trimtab.spark.shipping import shipped
from trimtab.spark.stream.state.conversions import arrow_schema
from trimtab.spark.stream.state.shape import Shape


def read_state(spark: SparkSession, checkpoint: str, batch: int | None = None) -> DataFrame:
    """Return the state of all keys after a batch, one row per key.

    The columns are `lane`; `key`, a struct; `state`, a struct, null for a key that has none but a
    timeout; and `timeout` in milliseconds, null for none. It only reads: the stream may run.

    Parameters
    ----------
    spark
        A session.
    checkpoint
        The stream's checkpoint directory.
    batch
        Number of the batch, one of the last three; by default the newest.

    Examples
    --------
    >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
    >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
    >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
    >>> counts = stream.running(clicks=F.count("*"))
    >>> query = counts.start(memory="now", output_mode="update", trigger={"availableNow": True})
    >>> query.awaitTermination()
    >>> held = tt.read_state(spark, tmp + "/checkpoint")
    >>> sorted(map(tuple, held.selectExpr("key.user", "state.p0").collect()))
    [('ann', 6), ('bob', 3)]
    """
    if not isinstance(spark, SparkSession) and not hasattr(spark, "createDataFrame"):
        raise InvalidArgument(f"read_state takes a Spark session; got {type(spark).__name__}")
    place = store(checkpoint, spark)
    manifest = manifest_of(place, batch)
    keys, state = (
        T.StructType.fromJson(json.loads(text)) for text in (manifest.keys, manifest.state)
    )
    shape = Shape.of(keys, keys.names, keys.names, (), state)
    stacks = tuple(lane.files for lane in manifest.lanes)
    kind = T.StructType(
        [
            T.StructField("lane", T.IntegerType()),
            T.StructField("key", keys),
            T.StructField("state", state),
            T.StructField("timeout", T.LongType()),
        ]
    )
    lanes = spark.range(0, len(stacks), 1, max(1, len(stacks)))
    return lanes.mapInArrow(shipped(LaneReader(place, shape, stacks).__call__), kind)


@dataclass(frozen=True)
class LaneReader:
    """The function that Spark calls for every lane.

    Attributes
    ----------
    store, shape
        The checkpoint's store, which travels; names and types.
    stacks
        The files of each lane, the newest first.
    """

    store: Store
    shape: Shape
    stacks: tuple[tuple[LaneFile, ...], ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the states of the lanes that are asked for."""
        for batch in batches:
            for lane in batch.column(0).to_pylist():
                yield self.of_lane(lane)

    def of_lane(self, lane: int) -> pa.RecordBatch:
        """Return the states of a lane."""
        shape = self.shape
        stack = Stack(self.store, self.stacks[lane], shape.entries)
        entries = stack.live().combine_chunks()
        key = self._struct(entries, [f.name for f in shape.key_fields], shape.key_type, None)
        held = entries["kind"].to_numpy() == HELD
        state = self._struct(entries, [f.name for f in shape.state_fields], shape.state, ~held)
        times = entries["timeout"].to_numpy()
        columns = [
            pa.array(np.full(entries.num_rows, lane, dtype=np.int32)),
            key,
            state,
            pa.array(times, mask=times == NO_TIMEOUT),
        ]
        return pa.RecordBatch.from_arrays(columns, names=["lane", "key", "state", "timeout"])

    @staticmethod
    def _struct(
        entries: pa.Table, names: list[str], kind: T.StructType, missing: np.ndarray | None
    ) -> pa.StructArray:
        arrays = [_one(entries.column(name)) for name in names]
        mask = None if missing is None else pa.array(missing)
        fields = [pa.field(f.name, f.type) for f in arrow_schema(kind)]
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
