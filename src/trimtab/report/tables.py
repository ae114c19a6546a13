"""The tables of a report: runs side by side, decisions, batches."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.report.run import BatchFigures, Run
from trimtab.report.table import Cell, Column, Table


def summary(runs: Sequence[Run], floors: Sequence[float] | None = None) -> Table:
    """Put runs side by side.

    Parameters
    ----------
    runs
        Runs of the same stream.
    floors
        The least seconds that each batch can take, where known. The table then also shows the time
        that was lost to stragglers: what heaviest lanes cost beyond their lower bound.
    """
    columns = [
        Column("run", "run"),
        Column("max_over_mean", "max/mean", ".2f"),
        Column("over_bound", "max/bound", ".2f"),
        Column("replication", "lanes/key", ".3f"),
    ]
    timed = [run.seconds for run in runs]
    if all(seconds is not None for seconds in timed):
        columns.append(Column("seconds", "s/batch", ".2f"))
        if floors is not None:
            columns.append(Column("floor", "bound, s", ".2f"))
            columns.append(Column("straggling", "lost, s", ".2f"))
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        cells: list[Cell] = [
            run.name,
            run.max_over_mean,
            run.over_bound,
            run.replication,
        ]
        if len(columns) > len(cells):
            count = len(run.batches)
            cells.append((run.seconds or 0.0) / count)
            if floors is not None:
                cells += [sum(floors) / count, straggling(run, floors) / count]
        rows.append(tuple(cells))
    first = runs[0]
    weight = sum(batch.total for batch in first.batches)
    title = f"{len(first.batches)} batches, {weight:,.0f} {first.unit} in all; averages per batch"
    if columns[-1].key == "straggling":
        title += "; lost: to stragglers"
    return Table(title, tuple(columns), rows)


def straggling(run: Run, floors: Sequence[float]) -> float:
    """Return the seconds that a run waited for lanes that were heavier than they had to be."""
    return sum(
        floor * (batch.over_bound - 1) for batch, floor in zip(run.batches, floors, strict=True)
    )


def decisions(run: Run) -> Table:
    """List every new plan with its reason."""
    columns = (
        Column("batch", "batch", "d"),
        Column("version", "plan", "d"),
        Column("max_over_mean", "max/mean", ".2f"),
        Column("reason", "why"),
    )
    rows = [
        (batch.batch, batch.version, batch.max_over_mean, batch.reason) for batch in run.changes
    ]
    return Table(f"New plans of {run.name}; every other batch kept its plan", columns, rows)


_FACTS: tuple[tuple[Column, str], ...] = (
    (Column("batch", "batch", "d"), "batch"),
    (Column("weight", "load", ",.0f"), "total"),
    (Column("distinct", "distinct keys", ",d"), "distinct"),
    (Column("max_over_mean", "max/mean", ".2f"), "max_over_mean"),
    (Column("over_bound", "heaviest lane / bound", ".2f"), "over_bound"),
    (Column("replication", "lanes per key", ".3f"), "replication"),
    (Column("seconds", "s", ".2f"), "seconds"),
    (Column("look_seconds", "look, s", ".2f"), "look_seconds"),
    (Column("version", "plan", "d"), "version"),
    (Column("late", "late rows", ",d"), "late"),
    (Column("tasks", "tasks", ",d"), "tasks"),
    (Column("moved_bytes", "bytes moved", ",d"), "moved_bytes"),
    (Column("straggler", "waited for"), "straggler"),
)


def batches(run: Run) -> Table:
    """List every batch; columns that no batch has a figure for are left out."""
    known = [
        (column, fact)
        for column, fact in _FACTS
        if any(getattr(batch, fact) is not None for batch in run.batches)
    ]
    columns = (*(column for column, _ in known), Column("hottest", "hottest key"))
    rows = [
        (*(getattr(batch, fact) for _, fact in known), _hottest(batch)) for batch in run.batches
    ]
    return Table(f"All batches of {run.name}", columns, rows)


def _hottest(batch: BatchFigures) -> str:
    if not batch.hottest or batch.total <= 0:
        return "-"
    name, weight = batch.hottest[0]
    return f"{name} ({weight / batch.total:.1%})"
