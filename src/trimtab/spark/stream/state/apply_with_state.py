"""A function of a key, its rows and its state: Spark's `applyInPandasWithState` on level lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import types as T

from trimtab.spark.stream.operations.base import Running
from trimtab.spark.stream.state.conversions import Conversions
from trimtab.spark.stream.state.kept import KeyedKept
from trimtab.spark.stream.state.lane import Work
from trimtab.spark.stream.state.operation import KeyedOperation
from trimtab.spark.stream.state.shape import Shape
from trimtab.spark.stream.state.state_function import Moment, StateFunction


class ApplyWithState(KeyedOperation):
    """Call a function for every key that has rows, and for every key that has timed out.

    Parameters
    ----------
    function, result
        The function, and the type of what it gives.
    timeout
        Spark's name of the kind of timeouts.
    shape
        Names and types of rows, keys and states.
    watermark
        The column with Spark's watermark; None if there is none.
    names_keys
        Whether a failure may name the key.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        result: T.StructType,
        timeout: str,
        shape: Shape,
        watermark: str | None,
        names_keys: bool,
    ) -> None:
        super().__init__(shape, watermark if timeout == "EventTimeTimeout" else None)
        self.function = function
        self.result = result
        self.timeout = timeout
        self.watermark = watermark
        self.names_keys = names_keys

    @property
    def needs_heartbeat(self) -> bool:
        """Whether batches must run although no rows have come: keys may have timed out."""
        return self.timeout != "NoTimeout"

    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself; the state's type is compared by its fields."""
        return {
            "operation": "apply_with_state",
            "schema": self.result.simpleString(),
            "timeout": self.timeout,
        }

    def work(self, running: Running, kept: KeyedKept) -> Work:
        """Return the calls of the function."""
        watermark = None if self.watermark is None else (running.spark_watermark or 0) // 1000
        return StateFunction(
            self.function,
            self.result,
            self.timeout,
            Moment(running.time, watermark),
            Conversions.of(running.session),
            self.names_keys,
        )
