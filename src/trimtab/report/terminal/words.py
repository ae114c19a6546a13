"""What all terminal views say in the same words: hot keys and decisions."""

from __future__ import annotations

from trimtab.report.run import BatchFigures


def hot_keys(batch: BatchFigures, most: int) -> list[str]:
    """Return the share and the name of each of the hottest keys, at most `most` of them."""
    if not batch.hottest or batch.total <= 0:
        return ["none counted"]
    return [f"{weight / batch.total:>6.1%}  {name}" for name, weight in batch.hottest[:most]]


def reason(batch: BatchFigures) -> str:
    """Return why the plan was changed or kept, without the word that says which."""
    return batch.reason.removeprefix("keep: ").removeprefix("change: ")


def decision(batch: BatchFigures) -> str:
    """Return in one sentence whether the batch brought a new plan, and why or why not."""
    word = "new plan" if batch.changed else "plan kept"
    why = reason(batch)
    said = f"{word} (version {batch.version}): {why}" if why else f"{word} ({batch.version})"
    return f"{said}; {batch.moved_state}" if batch.moved_state else said
