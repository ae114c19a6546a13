"""Controllers: whether a new plan pays, how many tasks to run, which partitioner suits."""

from __future__ import annotations

from trimtab.control.advisor import Advice, Advisor, Prediction
from trimtab.control.autoscale import AutoScaler, ScaleDecision
from trimtab.control.cost_model import Operator
from trimtab.control.delegation import Delegation
from trimtab.control.q_sync import QTableReducer
from trimtab.control.repartitioner import Decision, Repartitioner

__all__ = [
    "Advice",
    "Advisor",
    "AutoScaler",
    "Decision",
    "Delegation",
    "Operator",
    "Prediction",
    "QTableReducer",
    "Repartitioner",
    "ScaleDecision",
]
