"""`make chaos ONLY=receiver`: real kills of a receiver while records come."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from tests.receive.crash.voyage import sail


def main() -> int:
    asked = argparse.ArgumentParser(prog="make chaos ONLY=receiver", description=__doc__)
    asked.add_argument("--kills", type=int, default=100)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    console = Console()
    with (
        tempfile.TemporaryDirectory() as place,
        console.status("starting a receiver") as status,
    ):
        done = sail(
            Path(place),
            given.kills,
            given.seed,
            lambda count, moment: status.update(f"{count} of {given.kills} killed: {moment}"),
        )
    for moment, kills in done.items():
        console.print(f"  {kills:>4}  {moment}")
    console.print(f"{sum(done.values())} kills, every record in exactly one batch")
    return 0


if __name__ == "__main__":
    sys.exit(main())
