"""A model of a cluster that applies the same routers, plans and planners that Spark would."""

from __future__ import annotations

from trimtab.simulate.result import Result, Window
from trimtab.simulate.run import run

__all__ = ["Result", "Window", "run"]
