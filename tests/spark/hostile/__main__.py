"""The second half of `make chaos`: hostile rows through every operator, compared with Spark."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from tests.spark.hostile.trials import Tally, try_case
from tests.spark.stream.crash.queries import session

ROWS_PER_CASE = 2_000


def main() -> int:
    asked = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    asked.add_argument("--rows", type=int, default=1_000_000)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--case", type=int, help="try this one only")
    given = asked.parse_args()
    console, tally = Console(), Tally()
    with (
        tempfile.TemporaryDirectory(prefix="trimtab-hostile-") as scratch,
        Progress(console=console, refresh_per_second=1) as progress,
    ):
        place = Path(scratch)
        spark = session(place)
        task = progress.add_task("starting", total=given.rows)
        number = given.case or 0
        while tally.rows < given.rows:

            def tell(name: str) -> None:
                words = f"case {number}, {name}"  # noqa: B023 - shown at once
                progress.update(task, completed=tally.rows, description=f"{words:<34}")

            try_case(spark, given.seed, number, ROWS_PER_CASE, place, tally, tell=tell)
            number += 1
            if given.case is not None:
                break
        spark.stop()
    console.print(str(tally))
    for sentence in tally.wrong:
        console.print(f"WRONG: {sentence}", style="bold red", markup=False)
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
