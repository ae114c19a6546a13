"""Cases tried on operators, one after the other, and what came of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark.hostile import streams  # noqa: F401 - adds its operators to the others
from tests.spark.hostile.cases import made
from tests.spark.hostile.operators import OPERATORS, Differs, check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Tally:
    """How many rows were given to operators, in how many cases, and with which outcomes."""

    rows: int = 0
    cases: int = 0
    equal: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows tried in {self.cases} cases: {self.equal} results equal Spark's, "
            f"{self.refused} are refused by Spark and by us, {len(self.wrong)} are wrong"
        )


def try_case(
    spark: SparkSession,
    seed: int,
    number: int,
    rows: int,
    place: Path,
    tally: Tally,
    operators: Iterable[str] = (),
    tell: Callable[[str], None] = lambda name: None,
) -> None:
    """Try one case on the operators, by default on all, and count what comes of it."""
    case = made(spark, seed, number, rows)
    here = place / f"case-{number}"
    try:
        for name in operators or OPERATORS:
            tell(name)
            try:
                outcome = check(name, case, here)
                tally.equal += outcome == "equal"
                tally.refused += outcome == "refused"
            except Differs as error:
                tally.wrong.append(str(error))
            tally.rows += case.rows
        tally.cases += 1
    finally:
        case.df.unpersist()
        shutil.rmtree(here, ignore_errors=True)


def turn(number: int, each: int) -> list[str]:
    """Return some of the operators, others for each case, so that all come in turn."""
    names = list(OPERATORS)
    return [names[(number * each + i) % len(names)] for i in range(each)]
