"""The figures and tables of the five papers, one function each; `experiment` is the way in."""

from __future__ import annotations

import importlib
from typing import cast

from trimtab.errors import UnknownName
from trimtab.experiments.base import Claim, Experiment, Finding, Setting

PAPERS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "prompt": (
        "Prompt (SIGMOD 2020)",
        ("prompt",),
        ("10", "11", "12", "13", "14"),
    ),
    "holistic": (
        "A Holistic View of Stream Partitioning Costs (VLDB 2017)",
        ("holistic", "holistic_scaling"),
        ("5", "6", "7", "8", "9", "10", "11", "12", "13", "table-4"),
    ),
    "dr": (
        "Dynamic Repartitioning with KIP (2021)",
        ("dynamic_repartitioning",),
        ("2", "3", "4", "5", "7", "8"),
    ),
    "cg": (
        "Consistent Grouping",
        ("consistent_grouping", "consistent_grouping_in_time"),
        ("4", "table-1", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14"),
    ),
    "dalton": (
        "Dalton (VLDB 2022)",
        ("dalton", "dalton_costs", "dalton_together"),
        ("7", "8", "9", "10", "11", "12", "13", "14", "15"),
    ),
}
"""Title, modules and figures of each paper; functions are called `figure_10` or `table_4`."""

EXPERIMENTS: tuple[str, ...] = tuple(
    f"{paper}-{figure}" for paper, (_, _, figures) in PAPERS.items() for figure in figures
)


def experiment(name: str) -> Experiment:
    """Return the experiment of that name, such as "prompt-10" or "cg-table-1"."""
    if name not in EXPERIMENTS:
        raise UnknownName("experiment", name, EXPERIMENTS)
    paper, figure = name.split("-", 1)
    function = figure.replace("-", "_") if figure.startswith("table") else f"figure_{figure}"
    modules = (importlib.import_module(f"{__name__}.{part}") for part in PAPERS[paper][1])
    found = next(getattr(module, function) for module in modules if hasattr(module, function))
    return cast(Experiment, found)


def title_of(name: str) -> str:
    """Return the first line of what an experiment says of itself."""
    return (experiment(name).__doc__ or "").split("\n", 1)[0]


__all__ = ["EXPERIMENTS", "PAPERS", "Claim", "Finding", "Setting", "experiment", "title_of"]
