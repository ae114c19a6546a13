"""Trimtab keeps skewed Spark jobs level: it measures keys and decides where every record goes.

This package is free of Spark; `trimtab.spark` holds what acts on DataFrames.
"""

from __future__ import annotations

from trimtab.errors import TrimtabError
from trimtab.histogram import Histogram
from trimtab.keys import hash_keys
from trimtab.plan import Plan
from trimtab.planners import planner
from trimtab.routers import router

__version__ = "0.1.0"

__all__ = ["Histogram", "Plan", "TrimtabError", "hash_keys", "planner", "router"]
