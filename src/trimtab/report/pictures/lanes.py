"""Lanes before and after, as bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.report.pictures.canvas import BOUND, COLOURS, HATCHES, Picture, canvas
from trimtab.report.run import Run


def lanes(runs: Sequence[Run], at: int | None = None) -> Picture:
    """Draw the load of every lane in one batch, a panel per run, all on the same scale.

    Parameters
    ----------
    runs
        One run or several of the same stream.
    at
        Position of the batch; by default that of the batch with the first run's median max/mean.
    """
    median = at is None
    at = runs[0].typical() if at is None else at
    shown = [run.batches[min(at, len(run.batches) - 1)] for run in runs]
    highest = max(float(batch.loads.max()) for batch in shown)
    with canvas(4.6 * max(2, len(runs)), 3.4, columns=len(runs), sharey=True) as drawing:
        for index, (axis, run, batch) in enumerate(zip(drawing.axes, runs, shown, strict=True)):
            axis.bar(
                np.arange(batch.loads.size),
                batch.loads,
                width=0.78,
                color=COLOURS[index % len(COLOURS)],
                edgecolor="white",
                hatch=HATCHES[index % len(HATCHES)],
                linewidth=0.6,
            )
            axis.axhline(batch.bound, **BOUND, label=f"lower bound {batch.bound:,.0f}")
            axis.legend(loc="best", fontsize=9)
            heaviest = int(batch.loads.argmax())
            axis.annotate(
                f"{batch.loads[heaviest]:,.0f}",
                (heaviest, batch.loads[heaviest]),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=9,
            )
            axis.set_title(f"{run.name}: max/mean {batch.max_over_mean:.2f}")
            axis.set_xlabel("lane")
            step = max(1, -(-batch.loads.size // 16))
            axis.set_xticks(np.arange(0, batch.loads.size, step))
            axis.tick_params(axis="x", labelsize=8, length=0)
        drawing.axes[0].set_ylabel(runs[0].unit)
        drawing.axes[0].yaxis.set_major_formatter("{x:,.0f}")
        drawing.axes[0].set_ylim(0, max(highest, 1.0) * 1.12)
        words = "; ".join(
            f"{run.name}: heaviest lane {batch.loads.max():,.0f} {run.unit}, "
            f"lower bound {batch.bound:,.0f}"
            for run, batch in zip(runs, shown, strict=True)
        )
        caption = f"Load of each lane in batch {shown[0].batch}"
        if median and len(runs[0].batches) > 1:
            caption += f", the median batch of {runs[0].name} by max/mean"
        return drawing.finish(
            f"{caption}. A batch waits for its heaviest lane.", f"{caption}. {words}."
        )
