"""The grid of `regret.py` as lines, as a table, as a picture and as a CSV."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from machine import facts

SETTINGS = {"AQE": (200, True), "16": (16, False), "48": (48, False), "200": (200, False)}
"""Plain Spark's shuffle partitions, and whether AQE may coalesce them."""


@dataclass(frozen=True)
class Cell:
    """What was measured: seconds of each alternative, and what Trimtab decided."""

    operator: str
    keys: str
    slots: int
    seconds: dict[str, float]
    decided: str

    @property
    def place(self) -> tuple[str, str, int]:
        """Where it stands in the grid."""
        return self.operator, self.keys, self.slots

    @property
    def best(self) -> str:
        """Name of plain Spark's best setting."""
        tried = [name for name in SETTINGS if name in self.seconds]
        return min(tried, key=self.seconds.__getitem__)

    @property
    def regret(self) -> float:
        """Time of Trimtab over that of plain Spark's best."""
        return self.seconds["Trimtab"] / self.seconds[self.best]


def shown(cell: Cell) -> str:
    times = " ".join(f"{name} {value:.2f}" for name, value in cell.seconds.items())
    return (
        f"{cell.slots:>2} slots, {cell.keys:<14} {cell.operator:<13} {cell.regret:5.2f}  {times}"
        f"\n      {cell.decided}"
    )


def geometric_mean(cells: list[Cell]) -> float:
    return float(np.exp(np.mean([np.log(cell.regret) for cell in cells])))


def markdown(cells: list[Cell]) -> str:
    """Return the regrets as a table, a row for each operator and number of slots."""
    keys = list(dict.fromkeys(cell.keys for cell in cells))
    operators = list(dict.fromkeys(cell.operator for cell in cells))
    found = {(c.operator, c.slots, c.keys): f"{c.regret:.2f}" for c in cells}
    rows = list(dict.fromkeys((c.operator, c.slots) for c in cells))
    lines = [f"| operator, slots | {' | '.join(keys)} |", "|---" * (len(keys) + 1) + "|"]
    for operator, slots in sorted(rows, key=lambda row: operators.index(row[0])):
        figures = " | ".join(found.get((operator, slots, key), "") for key in keys)
        lines.append(f"| {operator}, {slots} | {figures} |")
    return "\n".join(lines)


def draw(cells: list[Cell], path: Path) -> None:
    """Draw the grid: a number in every cell, the darker the more Trimtab is ahead or behind."""
    from matplotlib.figure import Figure

    keys = list(dict.fromkeys(cell.keys for cell in cells))
    operators = dict.fromkeys(cell.operator for cell in cells)
    rows = [(o, s) for o in operators for s in sorted({c.slots for c in cells})]
    rows = [row for row in rows if any((c.operator, c.slots) == row for c in cells)]
    table = np.full((len(rows), len(keys)), np.nan)
    for cell in cells:
        table[rows.index((cell.operator, cell.slots)), keys.index(cell.keys)] = cell.regret
    figure = Figure(figsize=(9, 0.36 * len(rows) + 1.6), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(np.log2(table), cmap="PuOr_r", vmin=-2, vmax=2, aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        if np.isfinite(value):
            dark = abs(np.log2(value)) > 1.3
            colour = "white" if dark else "black"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)
    axes.set_xticks(range(len(keys)), keys)
    axes.set_yticks(range(len(rows)), [f"{operator}, {slots} slots" for operator, slots in rows])
    axes.set_title("Time of Trimtab over the best of plain Spark: below 1 Trimtab is ahead")
    bar = figure.colorbar(image, ticks=[-2, -1, 0, 1, 2])
    bar.ax.set_yticklabels(["1/4", "1/2", "1", "2", "4"])
    figure.savefig(path, dpi=110)


def keep(cells: list[Cell], out: Path, seed: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with (out / "regret.csv").open("w", newline="") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in facts(seed).items())
        writer = csv.writer(file)
        writer.writerow(["operator", "keys", "slots", *SETTINGS, "Trimtab", "regret", "decided"])
        for c in cells:
            names = (*SETTINGS, "Trimtab")
            seconds = [f"{c.seconds[n]:.4f}" if n in c.seconds else "" for n in names]
            writer.writerow([c.operator, c.keys, c.slots, *seconds, f"{c.regret:.3f}", c.decided])
    (out / "regret.md").write_text(markdown(cells) + "\n", encoding="utf-8")


def kept(out: Path) -> list[Cell]:
    """Return the cells that earlier runs have kept; none if there were no such runs."""
    if not (out / "regret.csv").exists():
        return []
    with (out / "regret.csv").open(newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("# ")))
    names = (*SETTINGS, "Trimtab")
    return [
        Cell(
            row["operator"],
            row["keys"],
            int(row["slots"]),
            {name: float(row[name]) for name in names if row[name]},
            row["decided"],
        )
        for row in rows
    ]
