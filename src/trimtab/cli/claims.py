"""`trimtab claims`: runs all experiments and writes the ledger of claims."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from trimtab.cli.experiment import Out, Scale, Seeds, save
from trimtab.cli.output import examples, say

if TYPE_CHECKING:
    from trimtab.experiments import Finding

NAME = "claims"
EXAMPLES = examples(
    "trimtab claims",
    "trimtab claims --page claims.md --scale 0.2 --seeds 1",
    "trimtab claims --only cg --page cg.md",
)


def run(
    page: Annotated[Path, typer.Option(help="The Markdown file to write.")] = Path(
        "docs/claims.md"
    ),
    only: Annotated[
        list[str] | None, typer.Option(help="Experiments whose names begin so; repeatable.")
    ] = None,
    scale: Scale = 1.0,
    seeds: Seeds = 5,
    processes: Annotated[int, typer.Option(min=1, help="Experiments that run at once.")] = 2,
    out: Out = Path("build/experiments"),
) -> None:
    """Run every experiment of the five papers and write what became of their claims."""
    from trimtab.experiments import EXPERIMENTS
    from trimtab.experiments.base import Setting
    from trimtab.experiments.ledger import ledger

    setting = Setting(scale, seeds)
    names = [n for n in EXPERIMENTS if not only or any(n.startswith(start) for start in only)]
    found: dict[str, Finding] = {}
    columns = (TextColumn("{task.description:20}"), BarColumn(), MofNCompleteColumn())
    with (
        Progress(*columns, TimeElapsedColumn()) as progress,
        # Processes of their own: kernels release the lock, but much of the rest does not.
        ProcessPoolExecutor(processes, get_context("spawn")) as pool,
    ):
        task = progress.add_task("experiments", total=len(names))
        futures = {pool.submit(measure, name, scale, seeds): name for name in names}
        for future in as_completed(futures):
            name = futures[future]
            found[name] = future.result()
            save(name, found[name], out)
            progress.update(task, advance=1, description=name)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(ledger({name: found[name] for name in names}, setting), encoding="utf-8")
    say(f"wrote {page}; CSV files and pictures are in {out}")


def measure(name: str, scale: float, seeds: int) -> Finding:
    """Run one experiment, in a process of its own."""
    from trimtab.experiments import Setting, experiment

    return experiment(name)(Setting(scale, seeds))
