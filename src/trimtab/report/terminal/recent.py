"""The recent batches of a run, a line each, and the newest of them in more detail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from trimtab.report.run import BatchFigures, Run
from trimtab.report.table import Cell, Column, Table
from trimtab.report.terminal.bars import bars
from trimtab.report.terminal.lanes import fit, lane_lines
from trimtab.report.terminal.words import decision, hot_keys, reason

_WIDE = 120
"""Columns of a terminal from which on there is room for reasons and for long lines of lanes."""
_ONLY_IF_WIDE = ("over_bound", "reason")
_FEWEST_BATCHES = 3
"""So many are shown in the lowest terminal."""
_MOST_KEYS = 5
_OTHER_LINES = 12
"""Lines beside the batches and the lanes: frame, head of the table, facts, decision, prompt."""


def recent_batches(
    run: Run | None, title: str, *, width: int | None = None, rows: int | None = None
) -> Panel:
    """Return a panel with a line per batch, then lanes, keys and decision of the newest.

    Parameters
    ----------
    run
        The batches to show; None before the first one is done.
    title
        What stands in the frame.
    width
        Columns of the terminal. A narrow one gets the reason of the newest batch alone.
    rows
        Height of the terminal. Where it is given everything fits: each batch takes one line,
        older batches are left out, and the lanes of the newest are drawn only where there is room.
    """
    heading = Text(title, style="bold")
    if run is None:
        return Panel(Text("waiting for the first batch"), title=heading)
    shown = run.batches
    others = _OTHER_LINES + (1 if shown[-1].look else 0) + (1 if shown[-1].straggler else 0)
    if rows is not None:
        shown = shown[-max(_FEWEST_BATCHES, rows - others) :]
    room = None if rows is None else rows - len(shown) - others
    wide = width is None or width >= _WIDE
    table = _table(shown, wide=wide, one_line_each=rows is not None)
    return Panel(Group(table.to_rich(), *_newest(shown[-1], room)), title=heading)


def _table(batches: Sequence[BatchFigures], *, wide: bool, one_line_each: bool) -> Table:
    columns: list[tuple[Column, Callable[[BatchFigures], Cell]]] = [
        (Column("batch", "batch", "d", narrow="keep"), lambda b: b.batch),
        (Column("rows", "rows", ",d", narrow="keep"), lambda b: b.rows),
        (Column("seconds", "seconds", ".2f", narrow="keep"), lambda b: b.seconds),
        (
            Column("max_over_mean", "max/mean", ".2f", narrow="keep"),
            lambda b: b.max_over_mean if b.total > 0 else None,
        ),
        (
            Column("over_bound", "max/bound", ".2f", narrow="keep"),
            lambda b: b.over_bound if b.total > 0 else None,
        ),
        (Column("late", "late", ",d", narrow="keep"), lambda b: b.late),
        (Column("version", "plan", narrow="keep"), _plan),
        (
            Column("lanes", "lanes", narrow="keep"),
            lambda b: bars(b.loads, most=32 if wide else 16) if b.total > 0 else "",
        ),
        (Column("reason", "why", narrow="cut" if one_line_each else "break"), reason),
    ]
    chosen = [pair for pair in columns if wide or pair[0].key not in _ONLY_IF_WIDE]
    return Table(
        "",
        tuple(column for column, _ in chosen),
        [tuple(cell(batch) for _, cell in chosen) for batch in batches],
    )


def _plan(batch: BatchFigures) -> str:
    version = "-" if batch.version is None else str(batch.version)
    return f"{version} new" if batch.changed else version


def _newest(batch: BatchFigures, room: int | None) -> list[Text]:
    # Where the height is limited a line is cut short instead of broken in two.
    cut: dict[str, Any] = {} if room is None else {"no_wrap": True, "overflow": "ellipsis"}
    keys = hot_keys(batch, _MOST_KEYS)
    # Above the lanes stands a heading, and beside them keys are a list instead of one line.
    if batch.total > 0 and fit(batch, None if room is None else room - 1 - len(keys)):
        lines = [Text(f"lanes of batch {batch.batch}", style="bold"), *lane_lines(batch)]
        lines += [Text("hottest keys", style="bold"), *(Text(key, **cut) for key in keys)]
    else:
        lines = [Text.assemble(("hottest keys ", "bold"), "  ".join(keys), **cut)]
    lines += [Text(fact, **cut) for fact in _facts(batch)]
    if batch.version is not None:
        lines.append(Text(decision(batch), style="italic"))
    return lines


def _facts(batch: BatchFigures) -> list[str]:
    facts = []
    if batch.distinct is not None:
        facts.append(f"{batch.distinct:,} keys")
    if batch.replication is not None:
        facts.append(f"{batch.replication:.2f} lanes per key")
    if batch.watermark is not None:
        facts.append(f"watermark {batch.watermark}")
    lines = ["   ".join(facts)] if facts else []
    if batch.look:
        looked = "no look" if batch.look_seconds is None else f"look of {batch.look_seconds:.2f} s"
        lines = [*lines, f"{looked}: {batch.look}"]
    if batch.straggler:
        lines = [*lines, f"waited for {batch.straggler}"]
    return [*lines, f"{batch.tasks} tasks: {batch.scaling}"] if batch.scaling else lines
