"""`trimtab experiment`: repeats a paper's figure, and says what became of its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.output import AsJson, examples, say, show
from trimtab.errors import InvalidArgument
from trimtab.report import Table
from trimtab.report.table import Column

NAME = "experiment"
EXAMPLES = examples(
    "trimtab experiment --list",
    "trimtab experiment prompt-10",
    "trimtab experiment cg-table-1 --scale 10 --seeds 10 --out figures/",
)

Scale = Annotated[float, typer.Option(help="Multiple of the usual number of tuples and keys.")]
Seeds = Annotated[int, typer.Option(help="How often luck is tried.")]
Out = Annotated[Path, typer.Option(help="Where CSV files and pictures go.")]


def run(
    name: Annotated[list[str] | None, typer.Argument(help="Which experiments; see --list.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    scale: Scale = 1.0,
    seeds: Seeds = 5,
    out: Out = Path("build/experiments"),
    as_json: AsJson = False,
) -> None:
    """Repeat figures of the papers: a CSV file, a picture and verdicts on their claims."""
    from trimtab.experiments import EXPERIMENTS, Setting, experiment, title_of

    if list_all:
        table = Table(
            "Experiments",
            (Column("name", "name"), Column("measures", "what it does")),
            [(each, title_of(each)) for each in EXPERIMENTS],
        )
        show([table], table.to_dicts(), as_json)
        return
    if not name:
        raise InvalidArgument("name an experiment, such as prompt-10; --list shows them all")
    setting = Setting(scale, seeds)
    runs = [(each, experiment(each)) for each in name]
    rows: list[tuple[str, str, str, str, str]] = []
    for each, function in runs:
        finding = function(setting)
        for path in save(each, finding, out):
            say(f"wrote {path}")
        for claim in finding.claims:
            verdict = f"{claim.verdict}: {claim.reason}" if claim.reason else claim.verdict
            rows.append((each, claim.says, claim.paper, claim.ours, verdict))
    columns = (
        *(Column("experiment", "experiment"), Column("says", "the paper says")),
        *(Column("paper", "its figure"), Column("ours", "ours"), Column("verdict", "verdict")),
    )
    table = Table(f"Claims at scale {scale:g}, {seeds} seeds", columns, rows)
    show([table], table.to_dicts(), as_json)


def save(name: str, finding: object, out: Path) -> list[Path]:
    """Write an experiment's CSV file and picture; return where they are."""
    from trimtab.experiments import title_of
    from trimtab.experiments.base import Finding
    from trimtab.experiments.chart import chart

    assert isinstance(finding, Finding)
    out.mkdir(parents=True, exist_ok=True)
    values = out / f"{name}.csv"
    values.write_text(finding.to_csv(), encoding="utf-8")
    return [values, chart(finding, title_of(name)).save(out / f"{name}.png")]
