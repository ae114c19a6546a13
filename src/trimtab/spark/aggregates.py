"""Which aggregates can be computed on the fragments of a split key and merged."""

from __future__ import annotations

import contextlib
import io
import re

from pyspark.sql import DataFrame

from trimtab.errors import SplitKeysRefused

_WHOLE_GROUP = re.compile(
    r"(?:ArrowAggregatePython|AggregateInPandas)[^\[]*\[[^\]]*\],\s*\[(\w+)\("
)
"""How a physical plan shows an aggregate written in Python: it needs all rows of a group."""


def physical_plan(df: DataFrame) -> str:
    """Give the physical plan as text, on Spark Classic and on Spark Connect."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        df.explain()
    return text.getvalue()


def refuse_unsplittable(aggregated: DataFrame) -> None:
    """Refuse, by name, an aggregate that Spark cannot compute in parts.

    Spark computes every aggregate of its own in two steps, parts and then their merge. What users
    write in Python for a whole group it cannot.
    """
    found = _WHOLE_GROUP.search(physical_plan(aggregated))
    if found:
        raise SplitKeysRefused(
            f"aggregate {found.group(1)!r} needs all rows of a key in one place, and this "
            "partitioner splits keys; use partitioner='kip', or 'hash', or applyInPandas with merge"
        )
