"""A model of a cluster that applies the same routers, plans and planners that Spark would.

`run` looks at a stream window by window, and keeps every latency. `stream` is tuple mode: sources,
lanes whose speed changes, queues, signals, reducers, in memory that goes by keys and lanes.
`micro_batches` is micro-batch mode: a map stage, a reduce stage, an interval. `highest_rate`
searches for what either can sustain.
"""

from __future__ import annotations

from trimtab.simulate.batches import Batch, Batches, Job, micro_batches
from trimtab.simulate.latency import Latencies
from trimtab.simulate.reducers import Reducers
from trimtab.simulate.result import Result, Window
from trimtab.simulate.run import run
from trimtab.simulate.service import Service
from trimtab.simulate.signals import Signals
from trimtab.simulate.slots import Slot, Timeline
from trimtab.simulate.sources import Sources
from trimtab.simulate.stages import StageCosts
from trimtab.simulate.stream import Cluster, stream
from trimtab.simulate.sustainable import highest_rate

__all__ = [
    "Batch",
    "Batches",
    "Cluster",
    "Job",
    "Latencies",
    "Reducers",
    "Result",
    "Service",
    "Signals",
    "Slot",
    "Sources",
    "StageCosts",
    "Timeline",
    "Window",
    "highest_rate",
    "micro_batches",
    "run",
    "stream",
]
