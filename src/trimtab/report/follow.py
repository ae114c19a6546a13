"""A live view of a running stream in the terminal: it only reads the checkpoint's event log."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from trimtab.errors import InvalidArgument
from trimtab.journal.checkpoint import local_path
from trimtab.journal.event_log import EventLog

SHOWN = 12
"""Batches that the view shows."""

BARS = " ▁▂▃▄▅▆▇█"


def follow(
    checkpoint: str,
    *,
    console: Console | None = None,
    every: float = 0.5,
    until: Callable[[], bool] | None = None,
) -> None:
    """Show the batches of a stream as they are done, until interrupted.

    Parameters
    ----------
    checkpoint
        The stream's checkpoint directory. It may be of another process, or still be empty.
    console
        Where to draw; by default the terminal.
    every
        Seconds between two looks at the log, more than 0.
    until
        Ends the view when it gives True; for instance `lambda: not query.isActive`.
    """
    if every <= 0:
        raise InvalidArgument(f"every must be more than 0 seconds; got {every!r}")
    tail = Tail(local_path(checkpoint, "checkpoint"))
    with Live(view(tail.read(), checkpoint), console=console, auto_refresh=False) as live:
        while True:
            over = until is not None and until()
            live.update(view(tail.read(), checkpoint), refresh=True)
            if over:
                return
            try:
                time.sleep(every)
            except KeyboardInterrupt:
                return


class Tail:
    """The newest lines of an event log, read again only when the file has changed."""

    def __init__(self, directory: Path) -> None:
        self._log = EventLog(directory)
        self._seen: tuple[int, int] | None = None
        self._events: deque[dict[str, Any]] = deque(maxlen=SHOWN)

    def read(self) -> list[dict[str, Any]]:
        """Return the newest lines, the oldest first."""
        try:
            facts = self._log.path.stat()
        except FileNotFoundError:
            return []
        now = (facts.st_size, facts.st_mtime_ns)
        if now != self._seen:
            self._seen = now
            self._events = deque(self._log.events(), maxlen=SHOWN)
        return list(self._events)


def view(events: list[dict[str, Any]], title: str) -> Panel:
    """Draw the newest batches as a table, and the last one's lanes and keys below it."""
    if not events:
        return Panel(Text("waiting for the first batch"), title=title)
    table = Table(expand=True, box=None)
    for name in ("batch", "rows", "seconds", "max/mean", "late", "plan", "lanes", "why"):
        right = name not in ("plan", "lanes", "why")
        table.add_column(name, justify="right" if right else "left", no_wrap=name != "why")
    for event in events:
        level = event.get("max_over_mean")
        version = f"{event.get('plan_version', '')}{' new' if event.get('changed') else ''}"
        table.add_row(
            str(event["batch"]),
            f"{event.get('rows', 0):,}",
            f"{event.get('seconds', {}).get('total', 0.0):.2f}",
            "" if level is None else f"{level:.2f}",
            f"{event.get('late_rows', 0):,}",
            version,
            bars(event.get("loads", [])),
            event.get("reason", ""),
        )
    return Panel(Group(table, Text(""), _last(events[-1])), title=title)


def bars(loads: list[float], most: int = 32) -> str:
    """Draw the loads of lanes, each as one block; the fullest is full.

    >>> bars([1.0, 4.0, 2.0])
    '▂█▄'
    """
    top = max(loads, default=0.0)
    if top <= 0:
        return ""
    # Lanes too many for the line are shown by the fullest of each group.
    step = -(-len(loads) // most)
    peaks = [max(loads[i : i + step]) for i in range(0, len(loads), step)]
    return "".join(BARS[max(1, round(8 * load / top)) if load > 0 else 0] for load in peaks)


def _last(event: dict[str, Any]) -> Text:
    hottest = ", ".join(f"{key['key']} {key['share']:.1%}" for key in event.get("hottest", []))
    parts = [
        f"{event.get('distinct_keys', 0):,} keys",
        f"replication {event.get('replication', 1.0):.2f}",
        f"hottest: {hottest or 'none'}",
    ]
    if event.get("watermark"):
        parts.append(f"watermark {event['watermark']}")
    if event.get("scaling"):
        parts.append(f"tasks {event.get('map_tasks')}: {event['scaling']}")
    return Text("   ".join(parts))
