"""Operators on DataFrames: profile, repartition, group, cogroup, join, write."""
