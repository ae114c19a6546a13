"""What the benchmarks on Spark share: options, a session, and results as tables and a CSV."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from machine import facts


@dataclass(frozen=True)
class Options:
    """What a benchmark was asked for on the command line."""

    full: bool
    parts: list[str]
    out: Path


def options(description: str | None, parts: Iterable[str]) -> Options:
    """Read the command line: the sizes, which of the `parts`, and where results go."""
    known = list(parts)
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--small", action="store_true", help="small sizes, some minutes; the default")
    size.add_argument("--full", action="store_true", help="the sizes that the aims are for")
    parser.add_argument("--only", default=",".join(known))
    parser.add_argument("--out", type=Path, default=Path("results"))
    given = parser.parse_args()
    names = given.only.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; parts: {', '.join(known)}")
    return Options(given.full, names, given.out)


def session(slots: int, **settings: str) -> SparkSession:
    """Start Spark with so many task slots; dots in the names of settings are two underscores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Functions of one benchmark are used by others: Python in the tasks must find them, too.
    folder = str(Path(__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
    builder = (
        SparkSession.builder.master(f"local[{slots}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "8g")
        .config("spark.driver.host", "127.0.0.1")
    )
    for name, value in settings.items():
        builder = builder.config(name.replace("__", "."), value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


class Results:
    """All figures of a run, shown as they come and kept at the end.

    Parameters
    ----------
    name
        Name of the benchmark, and of its files.
    seed
        Seed of the run.
    """

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.seed = seed
        self.rows: list[dict[str, Any]] = []
        self.pictures: dict[str, Callable[[Path], None]] = {}
        self.console = Console(width=120)

    def add(
        self,
        title: str,
        values: dict[str, float],
        base: str,
        aim: str = "",
        unit: str = "seconds",
    ) -> None:
        """Show and keep one figure per alternative, each with its ratio to one of them."""
        table = Table(title=title, caption=aim or None)
        for column in ("what", unit, f"ratio to {base}"):
            table.add_column(column, justify="left" if column == "what" else "right")
        for name, value in values.items():
            ratio = value / values[base]
            shown = f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
            table.add_row(name, shown, f"{ratio:.2f}")
            self.rows.append(
                {"part": title, "what": name, "unit": unit, "value": value, "ratio": ratio}
            )
        self.console.print(table)

    def keep(self, out: Path) -> None:
        """Write the CSV, headed by machine, versions and seed, and the pictures."""
        out.mkdir(parents=True, exist_ok=True)
        with (out / f"{self.name}.csv").open("w", newline="") as file:
            file.writelines(f"# {key}: {value}\n" for key, value in facts(self.seed).items())
            writer = csv.DictWriter(file, fieldnames=["part", "what", "unit", "value", "ratio"])
            writer.writeheader()
            writer.writerows(self.rows)
        for word, draw in self.pictures.items():
            draw(out / f"{self.name}_{word}.png")
        self.console.print(f"figures and pictures kept in {out}/")
