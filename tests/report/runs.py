"""Runs that the report's tests share."""

from __future__ import annotations

import numpy as np

from trimtab.report import BatchFigures, Run


def batch(number: int, loads: list[float], **facts: object) -> BatchFigures:
    total = float(sum(loads))
    return BatchFigures(number, np.array(loads), total / len(loads), **facts)  # type: ignore[arg-type]


def skewed(name: str = "Spark's hash") -> Run:
    return Run(
        name,
        [
            batch(5, [30, 10, 10, 10], hottest=(("/a", 30.0), ("/b", 5.0)), seconds=3.0),
            batch(6, [10, 40, 10, 20], hottest=(("/c", 40.0), ("/a", 10.0)), seconds=4.0),
            batch(7, [20, 20, 10, 30], hottest=(("/c", 30.0),), seconds=3.0),
        ],
    )


def level(name: str = "Trimtab") -> Run:
    return Run(
        name,
        [
            batch(
                5,
                [15] * 4,
                hottest=(("/a", 30.0),),
                seconds=1.5,
                version=1,
                changed=True,
                reason="first plan",
            ),
            batch(6, [20, 20, 20, 20], seconds=2.0, version=1, reason="keep: still level"),
            batch(7, [20, 20, 20, 20], seconds=2.0, version=2, changed=True, reason="/c is hot"),
        ],
    )
