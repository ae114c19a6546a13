"""Trimtab on Spark: the only package that imports pyspark."""

from __future__ import annotations

from trimtab.spark.balance import Unbalanced, assert_balanced
from trimtab.spark.group import GroupedFrame, group_by
from trimtab.spark.join import explain_join, join
from trimtab.spark.profile import profile
from trimtab.spark.repartition import explain_repartition, repartition
from trimtab.spark.skew_report import SkewReport
from trimtab.spark.stream import Stream, stream
from trimtab.spark.write import write_balanced

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
