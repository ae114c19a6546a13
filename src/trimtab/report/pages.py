"""Whole pages: one run on its own, or runs of the same stream side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trimtab.report import pictures, tables
from trimtab.report.html import Section, write_page
from trimtab.report.run import Run

_FOOTER = (
    "Made by Trimtab. The lower bound is max(total / lanes, heaviest key); where keys may be split "
    "the heaviest key is no obstacle, and the bound is total / lanes."
)


def write_query(path: str | Path, run: Run) -> Path:
    """Write the page of one run and return its path."""
    lead = (
        f"{len(run.batches)} batches on {run.lanes} lanes. The heaviest lane was on average "
        f"{run.over_bound:.2f} times the least it could have been; the plan changed "
        f"{len(run.changes)} times."
    )
    return write_page(path, f"Trimtab: {run.name}", lead, _of_run([run]), _FOOTER)


def write_comparison(
    path: str | Path,
    title: str,
    lead: str,
    runs: Sequence[Run],
    *,
    floors: Sequence[float] | None = None,
    paragraphs: Sequence[str] = (),
) -> Path:
    """Write the page of several runs of one stream and return its path.

    Parameters
    ----------
    path
        Where the page is written.
    title, lead
        Its heading and its first paragraph.
    runs
        The runs to compare. Hot keys and decisions are those of the last one.
    floors
        The least seconds that each batch can take, where known; times are then shown against them.
    paragraphs
        What else there is to say about the result.
    """
    first = Section("The result", paragraphs, [tables.summary(runs, floors)])
    if floors is not None:
        first = Section(first.heading, paragraphs, first.tables, [pictures.times(runs, floors)])
    return write_page(path, title, lead, [first, *_of_run(runs)], _FOOTER)


def _of_run(runs: Sequence[Run]) -> list[Section]:
    last = runs[-1]
    plans = [tables.decisions(last)] if last.changes else []
    made = [Section("Summary", tables=[tables.summary(runs)])] if len(runs) == 1 else []
    made.append(Section("The load of the lanes", pictures=[pictures.lanes(runs)]))
    if any(len(run.batches) > 1 for run in runs):
        made.append(Section("Load over time", pictures=[pictures.heat(runs)]))
    if any(batch.hottest for batch in last.batches):
        made.append(Section("The hottest keys", pictures=[pictures.hot_keys(last)]))
    made.append(
        Section("What was decided, and why", tables=plans, pictures=[pictures.decisions(runs)])
    )
    return [*made, Section("Every batch", tables=[tables.batches(run) for run in runs])]
