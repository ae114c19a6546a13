"""Pictures of partitioners against each other on streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

STYLES: dict[str, Any] = {
    "hash": ":",
    "kip": "--",
    "prompt": "-.",
    "dalton": (0, (5, 1)),
    "trim": "-",
}


def draw_drift(
    lines: dict[str, list[float]], rows: int, lanes: int, change: int, path: Path
) -> None:
    """Draw batch times; grey lines mark the changes, and line styles tell partitioners apart."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, seconds in lines.items():
        axes.plot(seconds, linestyle=STYLES[name], label=name)
    for batch in range(change, len(seconds), change):
        axes.axvline(batch, color="#bbbbbb", linewidth=0.8)
    axes.axhline(0.001 * rows / lanes, color="black", linewidth=1, label="level, without any Spark")
    axes.set(xlabel="batch; the hot keys change at every line", ylabel="seconds", ylim=(0, None))
    axes.set_title(f"1 ms per row, {rows:,} rows per batch, {lanes} task slots")
    axes.legend(ncols=6, fontsize=8)
    figure.savefig(path, dpi=110)


def draw_rates(
    found: dict[str, dict[str, float]], most: float, interval: float, path: Path
) -> None:
    """Draw the highest rates, a group of bars per shape."""
    names = list(next(iter(found.values())))
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for i, (shape, hatch) in enumerate(zip(found, ("", "//"), strict=True)):
        at = np.arange(len(names)) + (i - 0.5) * 0.4
        heights = [found[shape][name] for name in names]
        axes.bar(at, heights, 0.38, label=f"{shape} rate", hatch=hatch, edgecolor="white")
    axes.axhline(most, color="black", linewidth=1, label="16 slots, without any Spark")
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel("rows per second")
    axes.set_title(f"Highest rate with batches inside their interval of {interval:.0f} s")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)
