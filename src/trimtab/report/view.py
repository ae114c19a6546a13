"""A run as it looks in a terminal, while it goes on or after it."""

from __future__ import annotations

from typing import Any

from trimtab.report.bars import bars
from trimtab.report.run import Batch, Run

_WIDTH = 26
"""Characters of the longest bar: two views fit side by side in 100 columns."""
_MOST_LANES = 24
"""More lanes than this are one line of blocks instead of a line each."""
_OTHER_LINES = 9
"""Lines that are neither lane nor key: frame, headline, bound, history, decision, prompt."""


def view(
    run: Run, *, most_keys: int = 3, highest: float | None = None, rows: int | None = None
) -> Any:
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
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    newest = run.batches[-1]
    top = highest or float(newest.loads.max(initial=0.0))
    tall = newest.loads.size <= _MOST_LANES and (
        rows is None or rows >= newest.loads.size + most_keys + _OTHER_LINES
    )
    lanes = _bars(newest, top) if tall else [Text(bars(newest.loads, top, most=44))]
    parts = [
        Text(_headline(run, newest)),
        *lanes,
        Text("hottest keys", style="bold"),
        *_keys(newest, most_keys),
        Text.assemble(("max/mean so far ", "bold"), _history(run)),
    ]
    if newest.version is not None:
        parts.append(Text(_decision(newest), style="italic"))
    return Panel(Group(*parts), title=Text(run.name, style="bold"), width=50)


def _headline(run: Run, batch: Batch) -> str:
    text = f"batch {batch.batch}: {batch.total:,.0f} {run.unit}, max/mean {batch.max_over_mean:.2f}"
    return text if batch.seconds is None else f"{text}, {batch.seconds:.1f} s"


def _bars(batch: Batch, highest: float) -> list[Any]:
    from rich.text import Text

    lines = []
    scale = _WIDTH / highest if highest > 0 else 0.0
    bound = round(batch.bound * scale)
    for lane, load in enumerate(batch.loads.tolist()):
        length = round(load * scale)
        line = Text(f"{lane:>3} ")
        # What is beyond the bound is drawn differently, not only in another colour.
        line.append("█" * min(length, bound), style="blue")
        line.append("▒" * max(0, length - bound), style="red")
        if length < bound:
            line.append(" " * (bound - length - 1) + "│", style="dim")
        line.append(f" {load:,.0f}", style="dim")
        lines.append(line)
    lines.append(
        Text(f"    {'─' * max(0, bound - 1)}┘ lower bound {batch.bound:,.0f}", style="dim")
    )
    return lines


def _keys(batch: Batch, most: int) -> list[Any]:
    from rich.text import Text

    if not batch.hottest or batch.total <= 0:
        return [Text("none counted", style="dim")]
    return [
        Text(f"{weight / batch.total:>6.1%}  {name}", overflow="ellipsis", no_wrap=True)
        for name, weight in batch.hottest[:most]
    ]


def _history(run: Run) -> str:
    ratios = [batch.max_over_mean for batch in run.batches[-24:]]
    # Drawn from 1, which is level; a block is full at 4, or at the worst batch.
    heights = [ratio - 1 for ratio in ratios]
    return f"{bars(heights, max(3.0, *heights))} {ratios[-1]:.2f}"


def _decision(batch: Batch) -> str:
    word = "new plan" if batch.changed else "plan kept"
    reason = batch.reason.removeprefix("keep: ").removeprefix("change: ")
    return f"{word} (version {batch.version}): {reason}" if reason else f"{word} ({batch.version})"
