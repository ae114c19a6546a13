"""The hottest keys over time."""

from __future__ import annotations

import numpy as np

from trimtab.report.pictures.canvas import (
    BOUND,
    COLOURS,
    MARKERS,
    Picture,
    batch_ticks,
    canvas,
    short,
)
from trimtab.report.run import Run


def hot_keys(run: Run, most: int = 8) -> Picture:
    """Draw the share of the stream that each of the hottest keys had, batch by batch."""
    from matplotlib.ticker import PercentFormatter

    keys = run.hottest_keys(most)
    level = 1 / run.lanes
    with canvas(9.4, 3.6) as drawing:
        axis = drawing.axes[0]
        for index, (name, shares) in enumerate(keys):
            axis.plot(
                np.arange(shares.size),
                shares,
                color=COLOURS[index % len(COLOURS)],
                marker=MARKERS[index % len(MARKERS)],
                markersize=5.5,
                linewidth=1.6,
                label=short(name),
            )
        axis.axhline(level, **BOUND, label=f"level: one lane of {run.lanes}, {level:.1%}")
        axis.set_ylim(0, None)
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axis.set_ylabel(f"share of all {run.unit}")
        axis.set_title("The hottest keys, by name")
        batch_ticks(axis, run.numbers)
        axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8.5)
        peaks = "; ".join(f"{name} {np.nanmax(shares):.1%}" for name, shares in keys)
        return drawing.finish(
            "Share of the stream that the hottest keys hold. A key above the dashed line is more "
            "than a level lane holds: lanes can only be level if it is split.",
            f"Highest shares: {peaks or 'no key was counted'}. One lane's worth is {level:.1%}.",
        )
