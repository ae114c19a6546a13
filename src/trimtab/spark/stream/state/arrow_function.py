"""A user's function of many keys of a lane at once, with rows and states as Arrow tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from trimtab.errors import FunctionFailed
from trimtab.journal.keyed.entries import NO_TIMEOUT
from trimtab.spark.stream.operations.base import Running
from trimtab.spark.stream.state.conversions import arrow_schema
from trimtab.spark.stream.state.kept import KeyedKept
from trimtab.spark.stream.state.lane import Work
from trimtab.spark.stream.state.operation import KeyedOperation
from trimtab.spark.stream.state.shape import Shape
from trimtab.spark.stream.state.vector_work import Keys, Made, VectorWork

ROW_OF_KEY = "row_of_key"
"""The column, of the rows that a function is given, that tells which key a row belongs to."""

EXISTS = "exists"
"""The column of the states that tells which keys have one."""


class ArrowCalls(VectorWork):
    """Calls `function(keys, rows, states)` for many keys at once."""

    times_out_before = NO_TIMEOUT
    timed = True

    def __init__(
        self,
        function: Callable[..., Any],
        result: T.StructType,
        state: T.StructType,
        shown: tuple[str, ...],
    ) -> None:
        self.function = function
        self.result = result
        self.state = state
        self.shown = shown

    def made(self, keys: Keys) -> Made:
        """Return what the function gives, checked."""
        rows = pa.Table.from_batches([keys.rows]).select(list(self.shown))
        rows = rows.append_column(ROW_OF_KEY, pa.array(keys.row_of_key))
        states = keys.states.append_column(EXISTS, pa.array(keys.exists))
        try:
            given = self.function(keys.keys, rows, states)
            results, after = given
        except Exception as error:
            raise FunctionFailed(
                f"the function of apply_in_arrow_with_state failed: {type(error).__name__}: "
                f"{error}; it must give two tables, results and states; nothing of the batch is "
                "kept: correct it, and start again"
            ) from error
        count = keys.exists.size
        held = np.ones(count, dtype=np.bool_)
        if EXISTS in after.schema.names:
            held = np.asarray(after.column(EXISTS).to_numpy(), dtype=np.bool_)
        if after.num_rows != count:
            raise FunctionFailed(
                f"the function of apply_in_arrow_with_state gave {after.num_rows} states for "
                f"{count} keys; it must give one for each, in the order of the keys"
            )
        # A key that had no state and gets none is not written.
        changed = np.flatnonzero(held | keys.exists)
        return Made(
            _fitted(results, self.result, "results"),
            changed,
            held[changed],
            _fitted(after, self.state, "states").take(pa.array(changed)),
            np.full(changed.size, NO_TIMEOUT),
        )


class ApplyInArrowWithState(KeyedOperation):
    """Call a function of Arrow tables for the keys of each lane."""

    def __init__(self, function: Callable[..., Any], result: T.StructType, shape: Shape) -> None:
        super().__init__(shape)
        self.function = function
        self.result = result

    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""
        return {"operation": "apply_in_arrow_with_state", "schema": self.result.simpleString()}

    def work(self, running: Running, kept: KeyedKept) -> Work:
        """Return the calls of the function."""
        shown = tuple(field.name for field in self.shape.shown)
        return ArrowCalls(self.function, self.result, self.shape.state, shown)


def _fitted(table: pa.Table, kind: T.StructType, what: str) -> pa.Table:
    missing = [name for name in kind.names if name not in table.schema.names]
    if missing:
        raise FunctionFailed(
            f"the {what} that the function of apply_in_arrow_with_state gave have no column "
            f"{missing[0]!r}; they have {', '.join(map(repr, table.schema.names))}"
        )
    free = pa.schema([pa.field(f.name, f.type) for f in arrow_schema(kind)])
    return table.select(kind.names).cast(free)
