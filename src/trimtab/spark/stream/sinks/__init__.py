"""Where results go, one file each; `base` is the contract."""

from __future__ import annotations

from trimtab.spark.stream.sinks.base import Sink
from trimtab.spark.stream.sinks.files import ParquetSink
from trimtab.spark.stream.sinks.function import FunctionSink
from trimtab.spark.stream.sinks.memory import MemorySink
from trimtab.spark.stream.sinks.table import TableSink

__all__ = ["FunctionSink", "MemorySink", "ParquetSink", "Sink", "TableSink"]
