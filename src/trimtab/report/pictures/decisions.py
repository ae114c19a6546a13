"""Decisions and their reasons on the time line."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from trimtab.report.pictures.canvas import (
    BOUND,
    COLOURS,
    INK,
    MARKERS,
    Picture,
    batch_ticks,
    canvas,
)
from trimtab.report.run import Run

_MOST_REASONS = 8


def decisions(runs: Sequence[Run]) -> Picture:
    """Draw how far each run is from the lower bound, and where the last run changed its plan."""
    decided = runs[-1]
    reasons = [
        textwrap.shorten(
            f"{number} (batch {batch.batch}): {batch.reason or 'new plan'}", 135, placeholder=" …"
        )
        for number, batch in enumerate(decided.changes[:_MOST_REASONS], start=1)
    ]
    left_out = len(decided.changes) - len(reasons)
    if left_out > 0:
        reasons.append(f"and {left_out} more, in the table")
    highest = max(batch.over_bound for run in runs for batch in run.batches)
    with canvas(9.4, 3.5 + 0.2 * len(reasons)) as drawing:
        axis = drawing.axes[0]
        for index, run in enumerate(runs):
            axis.plot(
                np.arange(len(run.batches)),
                [batch.over_bound for batch in run.batches],
                color=COLOURS[index % len(COLOURS)],
                marker=MARKERS[index % len(MARKERS)],
                markersize=5.5,
                linewidth=1.8,
                label=run.name,
            )
        axis.axhline(1.0, **BOUND, label="lower bound")
        top = max(highest * 1.22, 1.3)
        number = 0
        for column, batch in enumerate(decided.batches):
            if not batch.changed:
                continue
            number += 1
            axis.axvline(column, color="#888888", linewidth=0.9, linestyle=":", zorder=0)
            if number <= _MOST_REASONS:
                axis.text(
                    column,
                    top * 0.97,
                    str(number),
                    ha="center",
                    va="top",
                    fontsize=8.5,
                    bbox={"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": INK},
                )
        axis.set_ylim(0, top)
        axis.set_ylabel("heaviest lane ÷ lower bound")
        axis.set_title("Distance from the lower bound, and every new plan")
        batch_ticks(axis, decided.numbers)
        axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9)
        if reasons:
            drawing.figure.supxlabel("\n".join(reasons), x=0.02, ha="left", fontsize=8)
        return drawing.finish(
            "How far the heaviest lane is above the lower bound. "
            f"Circles mark the batches in which {decided.name} changed its plan; all other batches "
            "kept it.",
            f"{decided.name} changed its plan {len(decided.changes)} times in "
            f"{len(decided.batches)} batches. " + " ".join(reasons),
        )
