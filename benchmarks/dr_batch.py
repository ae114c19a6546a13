"""Dynamic Repartitioning's batch job: groups are sorted and scored, planned from a first share.

    python benchmarks/dr_batch.py                    # some minutes
    python benchmarks/dr_batch.py --only 1.0,2.0

The paper's Figures 4 and 5: keys by Zipf's law on 35 partitions, Spark as it comes, with 2 and 3
times as many partitions, and with a plan that is made once the first rows have been seen. Nothing
is counted beforehand: the first 1,500 rows for each lane are taken, and only the partitions that
they stand in are read twice. A group's function sorts its rows, scores them, and waits 50
microseconds for each, which stands for slow reads: 35 tasks overlap on however many cores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

import trimtab.spark as tt
from machine import heading
from regret import fingerprint, frame, set_as
from spark_runs import Results, options, session
from trimtab.workloads import zipf_ids

SEED = 7
LANES = 35
KEYS = 500
EXPONENTS = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
SCHEMA = "key bigint, score double"
ROWS = {False: 200_000, True: 2_000_000}
"""Rows of a run, small and full."""
WAIT = 5e-5


def scored(group: pd.DataFrame) -> pd.DataFrame:
    time.sleep(WAIT * len(group))
    ordered = np.sort(group["z"].to_numpy())
    score = float(ordered @ (1.0 / np.arange(1, ordered.size + 1)))
    return pd.DataFrame({"key": [group["key"].iloc[0]], "score": [round(score, 3)]})


def main() -> None:
    asked = options(__doc__, [f"{z:.1f}" for z in EXPONENTS])
    rows = ROWS[asked.full]
    results = Results("dr_batch", SEED)
    results.console.print(heading("DR's batch job: group, sort, score", SEED))
    spark = session(LANES)
    for part in asked.parts:
        ids = zipf_ids(rows, KEYS, float(part), SEED)
        whole = WAIT * max(rows / LANES, int(np.bincount(ids).max()))
        with frame(spark, ids) as (df, _):

            def plainly(partitions: int, coalesce: bool) -> object:
                set_as(spark, partitions, coalesce)
                try:
                    return fingerprint(df.groupBy("key").applyInPandas(scored, SCHEMA))
                finally:
                    set_as(spark, 200, True)

            def ours(lanes: int, count: str) -> object:
                grouped = tt.group_by(df, "key", lanes=lanes, count=count)
                return fingerprint(grouped.applyInPandas(scored, SCHEMA))

            calls: dict[str, Callable[[], object]] = {
                "Spark, 35 partitions": partial(plainly, LANES, False),
                "Spark, 70": partial(plainly, 2 * LANES, False),
                "Spark, 105": partial(plainly, 3 * LANES, False),
                "Spark, AQE": partial(plainly, 200, True),
                "Trimtab, 35, first share": partial(ours, LANES, "first"),
                "Trimtab, 70, first share": partial(ours, 2 * LANES, "first"),
                "Trimtab, 35, all counted": partial(ours, LANES, "all"),
            }
            if part == asked.parts[0]:
                calls["Spark, 35 partitions"]()
                calls["Trimtab, 35, first share"]()
            seconds, found = {}, set()
            for name, call in calls.items():
                start = time.perf_counter()
                found.add(call())
                seconds[name] = time.perf_counter() - start
        if len(found) != 1:
            raise AssertionError(f"the alternatives give different results: {found}")
        results.add(
            f"Zipf {part}, {rows:,} rows, {KEYS:,} keys",
            {"waiting alone, whole keys": whole} | seconds,
            "Spark, 35 partitions",
        )
    spark.stop()
    results.keep(asked.out)


if __name__ == "__main__":
    main()
