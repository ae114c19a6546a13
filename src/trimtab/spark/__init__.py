"""Trimtab on Spark: the only package that imports pyspark."""

from __future__ import annotations

from trimtab.spark.batch.assertion import Unbalanced, assert_balanced
from trimtab.spark.batch.group import GroupedFrame, group_by
from trimtab.spark.batch.join import explain_join, join
from trimtab.spark.batch.profile import profile
from trimtab.spark.batch.repartition import explain_repartition, repartition
from trimtab.spark.batch.skew_report import SkewReport
from trimtab.spark.batch.write import write_balanced
from trimtab.spark.stream.api import Stream, stream

__all__ = [
    "GroupedFrame",
    "SkewReport",
    "Stream",
    "Unbalanced",
    "assert_balanced",
    "explain_join",
    "explain_repartition",
    "group_by",
    "join",
    "profile",
    "repartition",
    "stream",
    "write_balanced",
]
