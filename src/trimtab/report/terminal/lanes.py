"""The lanes of one batch as horizontal bars, a line each, against the lower bound."""

from __future__ import annotations

from rich.text import Text

from trimtab.report.run import BatchFigures

WIDTH = 26
"""Characters of the longest bar: two views fit side by side in 100 columns."""
MOST = 24
"""More lanes than this are too many lines to take in."""


def fit(batch: BatchFigures, height: int | None) -> bool:
    """Return whether a line per lane and the line of the bound fit into `height` lines.

    Without a height they fit unless there are too many lanes.
    """
    lanes = batch.loads.size
    return lanes <= MOST and (height is None or lanes + 1 <= height)


def lane_lines(batch: BatchFigures, highest: float | None = None) -> list[Text]:
    """Draw a line per lane, then the lower bound.

    The longest bar stands for `highest`, for batches that are compared; by default it is the
    heaviest lane, or the bound if that is more.
    """
    lines = []
    top = max(float(batch.loads.max(initial=0.0)), batch.bound) if highest is None else highest
    scale = WIDTH / top if top > 0 else 0.0
    bound = round(batch.bound * scale)
    for lane, load in enumerate(batch.loads.tolist()):
        length = round(load * scale)
        line = Text(f"{lane:>3} ")
        # What is beyond the bound is drawn differently, not only in another colour.
        line.append("█" * min(length, bound), style="blue")
        line.append("▒" * max(0, length - bound), style="red")
        if length < bound:
            line.append(" " * (bound - length - 1) + "│", style="dim")
        line.append(f" {load:,.0f}", style="dim")
        lines.append(line)
    lines.append(
        Text(f"    {'─' * max(0, bound - 1)}┘ lower bound {batch.bound:,.0f}", style="dim")
    )
    return lines
