"""`make chaos`: real kills over all operations on streams, until as many as asked for were done."""

from __future__ import annotations

import argparse
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.chaos.sailing import Logbook, WentWrong, sail
from tests.chaos.schedule import KINDS, Voyage, voyage, voyages
from tests.spark.stream.crash.queries import QUERIES


def main() -> int:
    asked = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    asked.add_argument("--kills", type=int, default=200)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--voyage", type=int, help="run this one only, from its beginning")
    asked.add_argument("--only", default="", help="queries to choose among, such as states,totals")
    asked.add_argument("--place", type=Path, default=Path("build/chaos"))
    given = asked.parse_args()
    among = tuple(filter(None, given.only.split(",")))
    if unknown := [name for name in among if name not in QUERIES]:
        asked.error(f"no query {unknown[0]!r}; there are {', '.join(QUERIES)}")
    # However it is asked to stop, and even from the background, it ends its children first.
    for asked_to_stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asked_to_stop, signal.default_int_handler)
    place = given.place.absolute() / "-".join(["seed", str(given.seed), *among])
    console = Console()
    if given.voyage is not None:
        place /= f"only-{given.voyage}"
    place.mkdir(parents=True, exist_ok=True)
    book = Logbook(place / "logbook.jsonl")
    plan = voyages(given.seed, among)
    if given.voyage is not None:
        plan = [voyage(given.seed, given.voyage, among)]
    if given.voyage is None and book.lines:
        console.print(f"going on after {book.kills()} kills, from {book.path}")
    wrong = embark(plan, place, book, given.kills, console)
    console.print(summary(book))
    for made, reason in wrong:
        console.print(f"WRONG: {made.line}\n{reason}", style="bold red", markup=False)
    return 1 if wrong else 0


def embark(
    plan: Any, place: Path, book: Logbook, kills: int, console: Console
) -> list[tuple[Voyage, str]]:
    """Run voyages until there were as many kills as asked for; return those that went wrong."""
    columns = (
        TextColumn("{task.description:<34}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    wrong = []
    with Progress(*columns, console=console, refresh_per_second=1) as progress:
        task = progress.add_task("starting", total=kills, completed=book.kills())
        for made in plan:
            before = book.outcome(made.number)
            if before is not None:
                if before != "equal":
                    wrong.append((made, before))
                continue
            if book.kills() >= kills:
                break

            def tell(line: dict[str, Any]) -> None:
                words = f"voyage {line['voyage']}, {line['kind']}, {line['seconds']} s"
                progress.update(task, completed=book.kills(), description=words)

            try:
                sail(made, place, book, tell)
            except WentWrong as error:
                book.note(voyage=made.number, outcome=str(error))
                wrong.append((made, str(error)))
    return wrong


def summary(book: Logbook) -> Table:
    """Count kills and outcomes by kind: a kill is right if its voyage gave what it should."""
    counts: Counter[tuple[str, str]] = Counter()
    seconds: Counter[str] = Counter()
    for line in book.lines:
        if "kind" in line:
            outcome = book.outcome(line["voyage"])
            word = "equal" if outcome == "equal" else "on the way" if outcome is None else "wrong"
            counts[line["kind"], word] += line["kills"]
            seconds[line["kind"]] += line["seconds"]
    made = Table("killed", "kills", "results equal", "wrong", "on the way", "seconds")
    totals = Counter[str]()
    for kind, title in KINDS.items():
        cells = {word: counts[kind, word] for word in ("equal", "wrong", "on the way")}
        made.add_row(
            title,
            str(sum(cells.values())),
            *(str(cell) for cell in cells.values()),
            f"{seconds[kind]:.0f}",
        )
        totals.update(cells)
    all_seconds = f"{sum(seconds.values()):.0f}"
    cells = [str(totals[word]) for word in ("equal", "wrong", "on the way")]
    made.add_row("all", str(sum(totals.values())), *cells, all_seconds, style="bold")
    return made


if __name__ == "__main__":
    sys.exit(main())
