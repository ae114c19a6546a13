"""A lane's task, run without Spark on rows as Spark would bring them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from trimtab.journal.keyed.lane_file import LaneFile
from trimtab.journal.store.local import LocalStore
from trimtab.keys import hash_keys
from trimtab.spark.stream.state.conversions import Conversions, arrow_schema
from trimtab.spark.stream.state.lane import LaneTask, Work
from trimtab.spark.stream.state.shape import Kind, Shape

CONVERSIONS = Conversions("UTC", False, True, False, False)


def struct(**fields: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in fields.items()])


ROWS = struct(user=T.StringType(), x=T.IntegerType(), ts=T.TimestampType())
SHAPE = Shape.of(ROWS, ["user"], ["user"], [], struct(n=T.LongType(), text=T.StringType()))


def laid_out(
    rows: Sequence[tuple[str | None, int | None, int | None]],
    shape: Shape = SHAPE,
    lane: int = 0,
    moved: Sequence[pa.RecordBatch] = (),
    zone: str = "UTC",
) -> pa.Table:
    """Return a lane's rows as its task gets them: sorted by key, the mark first.

    Spark gives moments in the session's time zone.
    """
    users = [user for user, _, _ in rows]
    hashes = [] if not rows else hash_keys(pa.array(users, pa.string())).view(np.int64).tolist()
    least = -(1 << 63)
    columns: dict[str, Any] = {
        "user": pa.array([None, *users], pa.string()),
        "x": pa.array([None, *(x for _, x, _ in rows)], pa.int32()),
        "ts": pa.array([None, *(ts for _, _, ts in rows)], pa.timestamp("us", zone)),
        shape.hash: pa.array([least, *hashes], pa.int64()),
        shape.check: pa.array([0, *hashes], pa.int64()),
        shape.kind: pa.array([Kind.MARK, *[Kind.ROW] * len(rows)], pa.int8()),
        shape.lane: pa.array([lane] * (len(rows) + 1), pa.int32()),
    }
    tables = [pa.table(columns), *(pa.Table.from_batches([batch]) for batch in moved)]
    whole = pa.concat_tables(tables, promote_options="default")
    order = [(name, "ascending") for name in (shape.hash, shape.check, shape.kind)]
    return whole.sort_by(order)


class Lanes:
    """Lanes whose tasks run one after the other, batch by batch."""

    def __init__(self, place: Path, shape: Shape = SHAPE, lanes: int = 1) -> None:
        self.place, self.shape = place, shape
        self.stacks: tuple[tuple[LaneFile, ...], ...] = ((),) * lanes
        self.batch = 0

    def run(
        self,
        work: Work,
        rows: pa.Table,
        lane: int = 0,
        chunk: int = 7,
        new_plan: str | None = None,
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Run a lane's task; return its results and its record."""
        store = LocalStore(self.place)
        task = LaneTask(store, self.batch, self.shape, work, self.stacks, new_plan)
        self.batch += 1
        *found, last = task(iter(rows.combine_chunks().to_batches(max_chunksize=chunk)))
        # Spark writes what a task gives as one Arrow stream.
        assert [batch.schema for batch in found if batch.schema != last.schema] == []
        record = json.loads(last.column("record")[0].as_py())
        files = tuple(map(LaneFile.from_record, record["files"]))
        self.stacks = (*self.stacks[:lane], files, *self.stacks[lane + 1 :])
        names = arrow_schema(work.result).names
        results = [
            dict(zip(names, row.values(), strict=False))
            for batch in found
            for row in batch.to_pylist()
        ]
        return results, record
