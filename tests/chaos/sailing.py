"""Voyages, run for real: leg by leg, each noted once it is over, so that all can be resumed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.schedule import EXECUTORS, FILES, MOMENTS, TIME, WORKERS, Leg, Voyage
from tests.spark.stream.crash.queries import QUERIES
from tests.spark.stream.inputs import write_files
from trimtab.journal.checkpoint import Checkpoint

PROJECT = Path(__file__).parents[2]

LONGEST_LEG = 600
"""Seconds after which a leg has come to a stop by itself, which is as wrong as a wrong result."""


class WentWrong(Exception):
    """A voyage ended otherwise than it would have without kills; the text says how."""


@dataclass
class Logbook:
    """What has been done, as lines of JSON in a file: a run that was stopped goes on from there."""

    path: Path
    lines: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.path.exists():
            texts = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
            # The last line may have been cut off when its writer was stopped.
            self.lines = [json.loads(text) for text in texts if text.endswith("\n")]
            self.path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))

    def note(self, **line: Any) -> None:
        self.lines.append(line)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def legs_done(self, number: int) -> int:
        return sum(line["voyage"] == number and "kind" in line for line in self.lines)

    def outcome(self, number: int) -> str | None:
        return next(
            (
                line["outcome"]
                for line in self.lines
                if line["voyage"] == number and "outcome" in line
            ),
            None,
        )

    def kills(self) -> int:
        return sum(line.get("kills", 0) for line in self.lines)


def sail(
    voyage: Voyage, place: Path, book: Logbook, tell: Callable[[dict[str, Any]], None]
) -> None:
    """Run a voyage from where it is to its end, and compare with what nobody disturbed.

    Raises
    ------
    WentWrong
        If a process ended otherwise than by its kill, or results differ.
    """
    root = place / f"voyage-{voyage.number}"
    if not (root / "in").exists():
        write_files(root / "in", FILES)
    for at in range(book.legs_done(voyage.number), len(voyage.legs)):
        leg, started = voyage.legs[at], time.monotonic()
        kills, reached = run_leg(voyage, at, root)
        line = {
            "voyage": voyage.number,
            "leg": at,
            "kind": leg.kind,
            "kills": kills,
            "reached": reached,
            "seconds": round(time.monotonic() - started, 1),
        }
        book.note(**line)
        tell(line)
    compare(voyage, root, undisturbed(place))
    book.note(voyage=voyage.number, outcome="equal")
    shutil.rmtree(root)


def run_leg(voyage: Voyage, at: int, root: Path) -> tuple[int, list[Any]]:
    """Run one leg; return how many processes were killed, and which points were reached."""
    leg = voyage.legs[at]
    if leg.kind in (WORKERS, EXECUTORS):
        order = {"queries": voyage.queries, "victim": leg.kind, "kills": leg.kills}
        order |= {"seconds": leg.seconds, "seed": voyage.seed + voyage.number}
        run("tests.chaos.last_leg", root, [json.dumps(order)], expected=0)
        return json.loads((root / "found.json").read_text())["kills"], []
    (root / "reached").unlink(missing_ok=True)
    words = [json.dumps(points_now(leg, root))]
    if leg.kind == TIME:
        words.append(str(leg.seconds))
    run("tests.spark.stream.crash.child", root, words, expected=-signal.SIGKILL)
    lines = (root / "reached").read_text().splitlines() if leg.kind == MOMENTS else []
    return 1, [json.loads(line) for line in lines]


def points_now(leg: Leg, root: Path) -> dict[str, tuple[str, int]]:
    """Return the points of a leg with the batches that they mean for queries that far."""
    points = {}
    for name, (moment, more) in leg.points.items():
        last = Checkpoint(root / "ck" / name, {}).last_state()
        # Epochs are taken in the first batch of a process, which may be one that is done.
        once = moment in ("epoch taken", "writing epochs")
        points[name] = (moment, 0 if once else min(last + 1 + more, FILES - 1))
    return points


def run(module: str, root: Path, words: list[str], expected: int) -> None:
    """Run a module as a process of its own, with all that it starts, until it ends."""
    command = [sys.executable, "-m", module, str(root), *words]
    log = root / "child.log"
    with log.open("a", encoding="utf-8") as out:
        child = subprocess.Popen(
            command, cwd=PROJECT, stdout=out, stderr=out, start_new_session=True
        )
        try:
            code = child.wait(timeout=LONGEST_LEG)
        except subprocess.TimeoutExpired:
            raise WentWrong(f"{module} {words} has not ended after {LONGEST_LEG} s") from None
        finally:
            # Its Java processes are of the group that it leads.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    if code != expected:
        tail = log.read_text(encoding="utf-8", errors="replace")[-3000:]
        raise WentWrong(f"{module} {words} ended with {code}, not with {expected}:\n{tail}")


def undisturbed(place: Path) -> dict[str, Any]:
    """Return what every query gives if nobody kills anything; found out once."""
    root = place / "undisturbed"
    if not (root / "found.json").exists():
        shutil.rmtree(root, ignore_errors=True)
        write_files(root / "in", FILES)
        order = {"queries": list(QUERIES), "victim": None}
        run("tests.chaos.last_leg", root, [json.dumps(order)], expected=0)
    found: dict[str, Any] = json.loads((root / "found.json").read_text())["found"]
    return found


def compare(voyage: Voyage, root: Path, expected: dict[str, Any]) -> None:
    """Raise `WentWrong` unless readers find what they would have found without kills."""
    found = json.loads((root / "found.json").read_text())["found"]
    for name in voyage.queries:
        for word in ("results", "facts"):
            ours, theirs = found[name][word], expected[name][word]
            if ours == theirs:
                continue
            missing = [row for row in theirs if row not in ours][:3]
            extra = [row for row in ours if row not in theirs][:3]
            raise WentWrong(
                f"{word} of {name!r} differ: {len(ours)} of them, not {len(theirs)}; "
                f"missing {missing}, unexpected {extra}"
            )
