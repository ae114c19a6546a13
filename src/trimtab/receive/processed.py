"""How long batches of a log took to process: noted by who works on them, told once they are done.

Spark says in one process that a batch is done (`commit` of the data source), and another has worked
on it. A note in the log's directory goes from one to the other, and on to the receiver.
"""

from __future__ import annotations

import json
from pathlib import Path

from trimtab._format import write_whole
from trimtab.errors import StoreFailed

NOTES = "processed"
"""The folder of notes in a log: `processed/<20 digits of the newest batch that was worked on>`."""


def note_processed(log: str | Path, batch: int, seconds: float, rows: int) -> None:
    """Note how long the batches of a log up to `batch`, since the last note, took to process.

    Parameters
    ----------
    log
        Directory of the log.
    batch
        Number of the newest batch.
    seconds, rows
        How long it took, and rows that this log gave.

    Raises
    ------
    StoreFailed
        If nothing can be written to the log.
    """
    path = Path(log) / NOTES / f"{batch:020d}"
    try:
        path.parent.mkdir(exist_ok=True)
        write_whole(path, json.dumps({"seconds": round(seconds, 4), "rows": rows}))
    except OSError as error:
        raise StoreFailed(
            f"{path}, which tells the receiver how long a batch took, cannot be written: "
            f"{error.strerror}; make room there, and let the driver write to the log"
        ) from error


def take_processed(log: str | Path, batch: int) -> tuple[float | None, int | None]:
    """Return seconds and rows of all notes up to a batch, and remove them; None without a note.

    Notes are for back-pressure alone: one that cannot be read counts as none.
    """
    found = []
    for path in sorted((Path(log) / NOTES).glob("[0-9]" * 20)):
        if int(path.name) > batch:
            break
        try:
            note = json.loads(path.read_text(encoding="utf-8"))
            found.append((float(note["seconds"]), int(note["rows"])))
        except (OSError, ValueError, KeyError, TypeError):
            pass
        path.unlink(missing_ok=True)
    if not found:
        return None, None
    return sum(seconds for seconds, _ in found), sum(rows for _, rows in found)
