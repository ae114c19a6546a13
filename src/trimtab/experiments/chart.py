"""The picture of an experiment: panels side by side, lines over numbers, bars over words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trimtab.experiments.base import Cell, Finding, Panel, Row
from trimtab.report.pictures.canvas import COLOURS, HATCHES, LINES, MARKERS, Picture, canvas


def chart(finding: Finding, title: str) -> Picture:
    """Draw a finding; values of several seeds are averaged."""
    count = len(finding.panels)
    with canvas(max(5.2, 4.4 * count), 3.6, columns=count) as drawing:
        for axis, panel in zip(drawing.axes, finding.panels, strict=True):
            _draw(axis, panel, panel.rows(finding.rows))
        words = "; ".join(f"{claim.says}: {claim.ours}" for claim in finding.claims)
        return drawing.finish(title, f"{title}. {words}")


def _draw(axis: Any, panel: Panel, rows: Sequence[Row]) -> None:
    names = list(dict.fromkeys(row[panel.series] for row in rows))
    places = list(dict.fromkeys(row[panel.x] for row in rows))
    numeric = all(isinstance(place, (int, float)) for place in places)
    if numeric:
        places = sorted(places, key=float)
    for index, name in enumerate(names):
        means = [_mean(rows, panel, name, place) for place in places]
        look = {"color": COLOURS[index % len(COLOURS)], "label": str(name)}
        if numeric:
            marker = MARKERS[index % len(MARKERS)] if len(places) <= 12 else None
            axis.plot(places, means, LINES[index % len(LINES)], marker=marker, ms=4, **look)
        else:
            width = 0.8 / len(names)
            at = np.arange(len(places)) + (index - (len(names) - 1) / 2) * width
            hatch = HATCHES[index % len(HATCHES)]
            axis.bar(at, means, width=0.94 * width, hatch=hatch, edgecolor="white", **look)
    if not numeric:
        axis.set_xticks(range(len(places)), [str(place) for place in places])
    if panel.logarithmic:
        axis.set_yscale("symlog", linthresh=1e-3)
    axis.set_xlabel(panel.x.replace("_", " "))
    axis.set_ylabel(panel.y.replace("_", " "))
    axis.set_title(panel.title)
    axis.legend(fontsize=8)


def _mean(rows: Sequence[Row], panel: Panel, name: Cell, place: Cell) -> float:
    found = [
        float(row[panel.y]) for row in rows if row[panel.series] == name and row[panel.x] == place
    ]
    return sum(found) / len(found) if found else float("nan")
