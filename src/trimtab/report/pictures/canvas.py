"""What all pictures share: a quiet style, and marks that do not rest on colour alone."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.report.owner_files import write_for_owner

# The colours of Okabe and Ito, which every kind of colour vision can tell apart. The first two are
# apart in grey as well.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b", "#000000")
HATCHES = ("////", "", "....", "xxxx")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "-", "--", "-.")
INK = "#222222"
BOUND = {"color": INK, "linestyle": (0, (5, 3)), "linewidth": 1.4}
"""The lower bound looks the same everywhere: a dashed dark line."""

_DOTS_PER_INCH = 144  # sharp on screens with two device pixels per CSS pixel
_STYLE = {
    "axes.edgecolor": "#888888",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.labelsize": 9.5,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture on every machine
    "font.size": 9.5,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@dataclass(frozen=True)
class Picture:
    """A drawn picture.

    Attributes
    ----------
    png
        The bytes of the file.
    caption
        What to look for in it.
    words
        What it shows, for those who cannot see it.
    """

    png: bytes
    caption: str
    words: str

    def save(self, path: str | Path) -> Path:
        """Write the PNG file, a new one for its owner only, and return its path."""
        path = Path(path)
        write_for_owner(path, self.png)
        return path


@dataclass(frozen=True)
class Canvas:
    """A figure and its panels."""

    figure: Any
    axes: Sequence[Any]

    def finish(self, caption: str, words: str) -> Picture:
        """Draw the figure and return it as a picture."""
        buffer = io.BytesIO()
        # No name and version of the drawing program: the same data give the same bytes.
        self.figure.savefig(buffer, format="png", dpi=_DOTS_PER_INCH, metadata={"Software": None})
        return Picture(buffer.getvalue(), caption, words)


@contextmanager
def canvas(width: float, height: float, *, columns: int = 1, **layout: Any) -> Iterator[Canvas]:
    """Open a figure of `width` x `height` inches with panels side by side, in the house style.

    It needs no window and changes no global setting. `layout` goes to matplotlib's `subplots`.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield Canvas(figure, figure.subplots(1, columns, squeeze=False, **layout).ravel())


def batch_ticks(axis: Any, numbers: Sequence[int]) -> None:
    """Label positions 0, 1, ... with batch numbers, at most about a dozen of them."""
    step = max(1, -(-len(numbers) // 12))
    shown = list(range(0, len(numbers), step))
    axis.set_xticks(shown, [str(numbers[i]) for i in shown])
    axis.set_xlabel("batch")


def short(name: str, most: int = 28) -> str:
    """Cut a long name in the middle: paths and ids differ at their ends."""
    if len(name) <= most:
        return name
    head = (most - 1) // 2
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"
