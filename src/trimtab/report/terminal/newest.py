"""The newest batch of a run in a narrow panel, of which two fit side by side."""

from __future__ import annotations

from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from trimtab.report.run import BatchFigures, Run
from trimtab.report.terminal.bars import bars
from trimtab.report.terminal.lanes import fit, lane_lines
from trimtab.report.terminal.words import decision, hot_keys

_WIDTH = 50
_OTHER_LINES = 8
"""Lines that are neither lanes nor keys: frame, headline, heading, history, decision, prompt."""
_HISTORY = 24
"""Batches whose ratio is shown."""


def newest_batch(
    run: Run, *, most_keys: int = 3, highest: float | None = None, rows: int | None = None
) -> Panel:
    """Return a panel of the run's newest batch: lanes as bars, hottest keys, the last decision.

    Parameters
    ----------
    run
        The run so far.
    most_keys
        How many keys to name.
    highest
        Load of the longest bar, for views that are compared; by default the batch's heaviest lane.
    rows
        Height of the terminal; where a line per lane does not fit, lanes are one line of blocks.
    """
    newest = run.batches[-1]
    if fit(newest, None if rows is None else rows - most_keys - _OTHER_LINES):
        lanes = lane_lines(newest, highest)
    else:
        lanes = [Text(bars(newest.loads, highest, most=_WIDTH - 6))]
    parts = [
        Text(_headline(run, newest)),
        *lanes,
        Text("hottest keys", style="bold"),
        *(Text(key, overflow="ellipsis", no_wrap=True) for key in hot_keys(newest, most_keys)),
        Text.assemble(("max/mean so far ", "bold"), _history(run)),
    ]
    if newest.version is not None:
        parts.append(Text(decision(newest), style="italic"))
    return Panel(Group(*parts), title=Text(run.name, style="bold"), width=_WIDTH)


def _headline(run: Run, batch: BatchFigures) -> str:
    text = f"batch {batch.batch}: {batch.total:,.0f} {run.unit}, max/mean {batch.max_over_mean:.2f}"
    return text if batch.seconds is None else f"{text}, {batch.seconds:.1f} s"


def _history(run: Run) -> str:
    ratios = [batch.max_over_mean for batch in run.batches[-_HISTORY:]]
    # Drawn from 1, which is level: the lowest block. A block is full at 4, or at the worst batch.
    heights = [ratio - 1 for ratio in ratios]
    return f"{bars(heights, max(3.0, *heights), nothing='▁')} {ratios[-1]:.2f}"
