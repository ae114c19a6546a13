"""A running stream in the terminal, live: it only reads the checkpoint of the stream."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.panel import Panel

from trimtab.errors import InvalidArgument
from trimtab.journal.store import store
from trimtab.report.log import newest_run
from trimtab.report.terminal.recent import recent_batches

SHOWN = 12
"""Batches that the view shows."""


def follow(
    checkpoint: str | os.PathLike[str],
    *,
    session: Any = None,
    console: Console | None = None,
    every: float = 0.5,
    until: Callable[[], bool] | None = None,
) -> None:
    """Show the batches of a stream as they are done, until interrupted.

    Parameters
    ----------
    checkpoint
        The stream's checkpoint, a directory or an address. The stream may run in another process,
        and need not have done a batch yet.
    session
        A Spark session, for places that are opened by its settings or through it.
    console
        Where to draw; by default the terminal.
    every
        Seconds between two looks at the checkpoint, more than 0.
    until
        Ends the view when it returns True; for instance `lambda: not query.isActive`.
    """
    if every <= 0:
        raise InvalidArgument(f"every must be more than 0 seconds; got {every!r}")
    store(checkpoint, session)
    out = console or Console()

    def drawn() -> Panel:
        # Asked each time: the window may have been resized.
        rows = out.height if out.is_terminal else None
        return look(checkpoint, session=session, width=out.width, rows=rows)

    with Live(drawn(), console=out, auto_refresh=False) as live:
        while True:
            over = until is not None and until()
            live.update(drawn(), refresh=True)
            if over:
                return
            try:
                time.sleep(every)
            except KeyboardInterrupt:
                return


def look(
    checkpoint: str | os.PathLike[str],
    *,
    session: Any = None,
    width: int | None = None,
    rows: int | None = None,
) -> Panel:
    """Return a view of the newest batches of a stream as they are now.

    `width` and `rows` are the size of the terminal, as `recent_batches` takes them.
    """
    run = newest_run(checkpoint, SHOWN, session=session)
    title = str(checkpoint) if run is None else run.name
    return recent_batches(run, title, width=width, rows=rows)
