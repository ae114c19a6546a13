"""Trimtab on Spark: the only package that imports pyspark.

Examples in docstrings speak of `spark`, a session, of `tmp`, the path of an empty directory, and of
modules by their usual names: `trimtab.spark` is `tt`, `pyspark.sql.functions` is `F`, pandas is
`pd`, pyarrow is `pa`.
"""

from __future__ import annotations

from trimtab.receive import receiver
from trimtab.spark.batch.assert_balanced import Unbalanced, assert_balanced
from trimtab.spark.batch.cogroup import CoGroupedFrame
from trimtab.spark.batch.group import GroupedFrame, group_by
from trimtab.spark.batch.join import explain_join, join
from trimtab.spark.batch.key_plan import KeyPlan, PlanOutdated, plan_keys
from trimtab.spark.batch.profile import profile
from trimtab.spark.batch.repartition import explain_repartition, repartition
from trimtab.spark.batch.run_report import RunReport
from trimtab.spark.batch.skew_report import KeyWeight, SkewReport
from trimtab.spark.batch.write import write_balanced
from trimtab.spark.counting.timed import Learned
from trimtab.spark.routing.route import Route
from trimtab.spark.source.received import received
from trimtab.spark.stream.api import Stream, events, stream
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.sinks import FunctionSink, MemorySink, ParquetSink, Sink, TableSink
from trimtab.spark.stream.startable import Startable
from trimtab.spark.stream.state.reading import read_state

__all__ = [
    "Batch",
    "CoGroupedFrame",
    "FunctionSink",
    "GroupedFrame",
    "KeyPlan",
    "KeyWeight",
    "Learned",
    "MemorySink",
    "ParquetSink",
    "PlanOutdated",
    "Route",
    "RunReport",
    "Sink",
    "SkewReport",
    "Startable",
    "Stream",
    "TableSink",
    "Unbalanced",
    "assert_balanced",
    "events",
    "explain_join",
    "explain_repartition",
    "group_by",
    "join",
    "plan_keys",
    "profile",
    "read_state",
    "received",
    "receiver",
    "repartition",
    "stream",
    "write_balanced",
]
