"""Statistics of key streams: exact counts, heavy hitters, cardinality, and two papers' counters."""

from __future__ import annotations

from trimtab.sketches.base import Sketch
from trimtab.sketches.count_min import CountMin
from trimtab.sketches.count_tree import CountTree, sorted_counts
from trimtab.sketches.drift_histogram import DriftHistogram, global_top
from trimtab.sketches.exact import ExactCounts
from trimtab.sketches.histogram_history import HistogramHistory
from trimtab.sketches.hyperloglog import HyperLogLog
from trimtab.sketches.lossy_counting import LossyCounting
from trimtab.sketches.space_saving import SpaceSaving

__all__ = [
    "CountMin",
    "CountTree",
    "DriftHistogram",
    "ExactCounts",
    "HistogramHistory",
    "HyperLogLog",
    "LossyCounting",
    "Sketch",
    "SpaceSaving",
    "global_top",
    "sorted_counts",
]
