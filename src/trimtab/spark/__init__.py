"""Trimtab on Spark: the only package that imports pyspark."""

from __future__ import annotations

from trimtab.spark.group import GroupedFrame, group_by
from trimtab.spark.join import join
from trimtab.spark.repartition import explain_repartition, repartition

__all__ = ["GroupedFrame", "explain_repartition", "group_by", "join", "repartition"]
