"""What a terminal shows, as text."""

from __future__ import annotations

from rich.console import Console, RenderableType


def drawn(what: RenderableType, width: int = 60) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(what)
    return captured.get()
