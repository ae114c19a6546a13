"""Load over time as a heat map: lanes x batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.report.pictures.canvas import INK, Picture, batch_ticks, canvas
from trimtab.report.run import Run

_HOT = 1.25
"""Cells at this multiple of the lower bound carry their number: colour is not all there is."""
_MOST_NUMBERS = 320
"""With more cells than this per panel the numbers would not be readable."""


def heat(runs: Sequence[Run]) -> Picture:
    """Draw each lane's load in each batch, as a multiple of the batch's lower bound."""
    from matplotlib.colors import LinearSegmentedColormap

    # From white over one hue to near black: darker is heavier, in colour and in grey.
    shades = LinearSegmentedColormap.from_list("load", ["#ffffff", "#7fb6d6", "#0a4a7a", "#041522"])
    grids = [run.heat() for run in runs]
    highest = max(2.0, *(float(np.nanmax(grid)) for grid in grids))
    tallest = max(grid.shape[0] for grid in grids)
    height = max(2.4, 1.3 + 0.17 * min(tallest, 40))
    with canvas(4.7 * max(2, len(runs)), height, columns=len(runs), sharey=True) as drawing:
        for axis, run, grid in zip(drawing.axes, runs, grids, strict=True):
            image = axis.imshow(
                grid, aspect="auto", cmap=shades, vmin=0, vmax=highest, interpolation="nearest"
            )
            if grid.size <= _MOST_NUMBERS:
                for lane, column in np.argwhere(grid >= _HOT):
                    value = grid[lane, column]
                    axis.text(
                        column,
                        lane,
                        f"{value:.1f}",
                        ha="center",
                        va="center",
                        fontsize=7,
                        color="white" if value > 0.45 * highest else INK,
                    )
            axis.set_title(f"{run.name}: {run.over_bound:.2f} times the bound on average")
            for side in ("top", "right"):
                axis.spines[side].set_visible(True)
            batch_ticks(axis, run.numbers)
        drawing.axes[0].set_ylabel("lane")
        step = max(1, -(-tallest // 16))
        drawing.axes[0].set_yticks(np.arange(0, tallest, step))
        bar = drawing.figure.colorbar(image, ax=list(drawing.axes), pad=0.015, aspect=28)
        bar.set_label("load ÷ lower bound")
        bar.ax.axhline(1.0, color=INK, linewidth=1.4, linestyle=(0, (3, 2)))
        ticks = [tick for tick in bar.get_ticks() if 0 <= tick <= highest and abs(tick - 1) > 0.2]
        bar.set_ticks([*ticks, 1.0], labels=[*(f"{tick:g}" for tick in ticks), "1 = bound"])
        words = "; ".join(f"{run.name}: {run.over_bound:.2f} times the bound" for run in runs)
        return drawing.finish(
            "Load of every lane in every batch, as a multiple of the least that the heaviest lane "
            f"can have. Cells at {_HOT} and above carry their number.",
            f"Heat map of lanes and batches. Heaviest lane on average: {words}.",
        )
