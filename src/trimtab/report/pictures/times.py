"""How long each batch took."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.errors import InvalidArgument
from trimtab.report.pictures.canvas import BOUND, COLOURS, HATCHES, Picture, batch_ticks, canvas
from trimtab.report.run import Run


def times(runs: Sequence[Run], floor: Sequence[float]) -> Picture:
    """Draw the time of every batch next to the least time that the slots allow.

    Parameters
    ----------
    runs
        Runs of the same batches, all of them timed.
    floor
        The lower bound of each batch, in seconds.
    """
    if any(batch.seconds is None for run in runs for batch in run.batches):
        raise InvalidArgument("times() needs runs whose batches were all timed; one was not")
    count = len(floor)
    width = 0.8 / len(runs)
    with canvas(9.4, 3.3) as drawing:
        axis = drawing.axes[0]
        for index, run in enumerate(runs):
            taken = np.array([batch.seconds for batch in run.batches[:count]], dtype=np.float64)
            axis.bar(
                np.arange(taken.size) + (index - (len(runs) - 1) / 2) * width,
                taken,
                width=width * 0.94,
                color=COLOURS[index % len(COLOURS)],
                edgecolor="white",
                hatch=HATCHES[index % len(HATCHES)],
                linewidth=0.5,
                label=f"{run.name}: {taken.mean():.2f} s on average",
            )
        edges = np.arange(count + 1) - 0.5
        axis.stairs(floor, edges, baseline=None, **BOUND, label="lower bound")
        axis.set_ylabel("seconds per batch")
        axis.set_title("Time of each batch")
        axis.set_ylim(0, 1.18 * axis.get_ylim()[1])
        batch_ticks(axis, runs[0].numbers[:count])
        axis.legend(loc="upper left", ncols=len(runs) + 1, fontsize=9)
        means = "; ".join(f"{run.name} {run.seconds or 0:.1f} s in all" for run in runs)
        return drawing.finish(
            "The dashed line is the time that the work alone takes when it is level on all slots.",
            f"Time of each batch. {means}; lower bound {sum(floor):.1f} s.",
        )
