"""`trimtab simulate`: what a file's keys would do on a cluster that is described in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trimtab import hash_keys
from trimtab.cli.files import read_columns
from trimtab.cli.output import AsJson, examples, say, show
from trimtab.errors import InvalidArgument
from trimtab.report import Table
from trimtab.report.table import Column

NAME = "simulate"
EXAMPLES = examples(
    "trimtab simulate --example > scenario.toml",
    "trimtab simulate scenario.toml",
    "trimtab simulate scenario.toml --out pictures/ --json",
)

_COLUMNS = (
    Column("partitioner", "partitioner"),
    Column("max_over_mean", "max / mean", ".3f"),
    Column("replication", "lanes per key", ".3f"),
    Column("keeps_up", "keeps up"),
    Column("sustainable_load", "load it could carry", ".2f"),
    Column("longest_queue", "longest queue", ",.0f"),
    Column("latency_p50", "p50, slots", ".4f"),
    Column("latency_p95", "p95, slots", ".4f"),
    Column("latency_p99", "p99, slots", ".4f"),
    Column("aggregation", "reducers busy", ".3f"),
)


def run(
    scenario: Annotated[Path | None, typer.Argument(help="A scenario: a TOML file.")] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Print a scenario to start from.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write a CSV file and a picture of all slots here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a file's keys through a model of a cluster: queues, latency, what it could carry."""
    from trimtab.simulate.scenario import EXAMPLE, read_scenario

    if example:
        typer.echo(EXAMPLE, nl=False)
        return
    if scenario is None:
        raise InvalidArgument("name a scenario file; --example prints one to start from")
    asked = read_scenario(scenario)
    keys = hash_keys(read_columns(asked.path, asked.key))
    rows: list[tuple[str, float, float, bool, float, float, float, float, float, float]] = []
    slots: list[dict[str, str | int | float]] = []
    for name, found in asked.run(keys).items():
        latencies = found.latencies
        rate = found.tuples / sum(slot.seconds for slot in found.slots)
        rows.append(
            (
                name,
                float(found.of(lambda s: s.max_over_mean).mean()),
                float(found.of(lambda s: s.replication).mean()),
                found.keeps_up,
                asked.utilisation * found.sustainable_rate / rate,
                float(found.of(lambda s: s.queues.max()).max()),
                latencies.percentile(50),
                latencies.percentile(95),
                latencies.percentile(99),
                float(found.of(lambda s: s.reducer_pressure).mean()),
            )
        )
        slots += [{"partitioner": name, **row} for row in found.table()]
    title = f"{keys.size:,} rows on {asked.lanes} lanes, {asked.utilisation:.0%} busy if level"
    table = Table(title, _COLUMNS, rows)
    show([table], table.to_dicts(), as_json)
    if out is not None:
        for path in _save(out, slots, title):
            say(f"wrote {path}")


def _save(out: Path, slots: list[dict[str, str | int | float]], title: str) -> list[Path]:
    from trimtab.experiments.base import Finding, Panel
    from trimtab.experiments.chart import chart

    panels = (
        Panel("slot", "max_over_mean", "partitioner", "Heaviest lane over the mean"),
        Panel("slot", "queue_most", "partitioner", "Longest queue", logarithmic=True),
        Panel("slot", "latency_p99", "partitioner", "p99 latency (slots)", logarithmic=True),
    )
    finding = Finding(slots, panels, ())
    out.mkdir(parents=True, exist_ok=True)
    values = out / "slots.csv"
    values.write_text(finding.to_csv(), encoding="utf-8")
    return [values, chart(finding, title).save(out / "slots.png")]
