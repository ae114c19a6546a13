"""`trimtab route`: sends the keys of a file through partitioners and shows what each costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from trimtab import hash_keys
from trimtab._checks import lane_count, one_of, whole
from trimtab.cli.files import File, Format, Keys, read_columns
from trimtab.cli.output import AsJson, Check, check_limit, console, examples, say, show
from trimtab.cli.trial import SCALARS, Trial, parsed, try_out
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.partitioners import make
from trimtab.report import Table
from trimtab.report.table import Column
from trimtab.report.terminal import bars
from trimtab.routers import ROUTERS

NAME = "route"
EXAMPLES = examples(
    "trimtab route clicks.parquet --key user --lanes 16",
    "trimtab route clicks.csv -k page -p pkg -p cam -p trim --lanes 64 --window 100000",
    "trimtab route clicks.parquet -k page -p pkg --set choices=5 --lanes 64 --json",
    "trimtab route clicks.parquet -k page -p trim --lanes 16 --check 1.1   # exit code 1 if worse",
)

_HEADINGS = {
    "max_over_mean": "max / mean of the loads",
    "imbalance": "max - mean, tuples",
    "coefficient_of_variation": "deviation / mean",
    "lower_bound": "lower bound, whole keys, tuples",
    "replication": "lanes per key",
    "least_replication": "least lanes per key, if level",
    "widest_key": "most lanes of one key",
    "aggregation_cost": "partial results to merge",
    "cardinality_imbalance": "max - mean, distinct keys",
    "hybrid_imbalance": "hybrid imbalance (Holistic)",
    "micro_batch_imbalance": "MPI (Prompt)",
}
_WHOLE = {"imbalance", "lower_bound", "widest_key", "aggregation_cost", "cardinality_imbalance"}


def run(
    file: File,
    key: Keys,
    partitioner: Annotated[
        list[str] | None,
        typer.Option(
            "--partitioner", "-p", metavar="NAME", help="Repeat to compare. Default: hash and trim."
        ),
    ] = None,
    lanes: Annotated[int, typer.Option("--lanes", "-n", help="Number of destinations.")] = 16,
    window: Annotated[
        int | None, typer.Option(help="Tuples per window or batch. Default: the whole file.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="router or planner, for names that are both."),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the partitioner."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses the hash functions.")] = 0,
    output: Annotated[
        Path | None, typer.Option(help="Write keys and lanes to this Parquet file.")
    ] = None,
    format: Format = None,
    check: Check = None,
    as_json: AsJson = False,
) -> None:
    """Send a file's keys through partitioners and show all costs; needs no Spark."""
    names = partitioner or ["hash", "trim"]
    lane_count(lanes, "--lanes")
    if kind is not None:
        one_of("--kind", kind, ("router", "planner"))
    if window is not None:
        whole("--window", window, 1)
    if output is not None and len(names) > 1:
        raise InvalidArgument(f"--output takes one partitioner; got {', '.join(names)}")
    table = read_columns(file, key, format)
    hashes = hash_keys(table)
    parameters = dict(map(parsed, set or []))
    trials = []
    for name in names:
        # A name of both kinds is tried as a router, tuple by tuple, unless the user says otherwise.
        of_kind = kind or ("router" if name in ROUTERS else None)
        made = make(name, lanes, parameters, kind=of_kind, seed=seed)
        trials.append(try_out(hashes, made, window or max(hashes.size, 1)))
    if output is not None:
        _write(output, table, trials[0].lanes)
    hottest = hottest_keys(table, hashes)
    show(
        [_hottest_table(hottest, lanes), _costs_table(trials, hashes.size, lanes)],
        {
            "file": str(file),
            "key": key,
            "tuples": int(hashes.size),
            "lanes": lanes,
            "window": window,
            "hottest": [{"key": name, "tuples": n, "share": s} for name, n, s in hottest],
            "partitioners": [trial.to_dict() for trial in trials],
        },
        as_json,
    )
    if not as_json:
        _draw_lanes(trials)
    for trial in trials:
        check_limit(trial.name, trial.mean("max_over_mean"), check)


def hottest_keys(
    table: Any, hashes: NDArray[np.uint64], most: int = 8
) -> list[tuple[str, int, float]]:
    """Return the heaviest keys as (readable name, tuples, share)."""
    found = []
    top = Histogram.from_hashes(hashes, top=most)
    for key, weight, share in zip(top.hashes, top.weights, top.shares, strict=True):
        row = int(np.argmax(hashes == key))
        name = ", ".join(str(column[row].as_py()) for column in table.columns)
        found.append((name, int(weight), float(share)))
    return found


def _hottest_table(hottest: list[tuple[str, int, float]], lanes: int) -> Table:
    return Table(
        "The hottest keys",
        (
            Column("key", "key"),
            Column("tuples", "tuples", ",d"),
            Column("share", "share", ".2%"),
            Column("lanes", "lanes' worth", ".2f"),
        ),
        [(name, tuples, share, share * lanes) for name, tuples, share in hottest],
    )


def _costs_table(trials: list[Trial], tuples: int, lanes: int) -> Table:
    title = f"Costs of {tuples:,} tuples on {lanes} lanes"
    windows = len(trials[0].windows)
    if windows > 1:
        title += f", averages of {windows:,} windows"
    columns = (
        Column("cost", "cost"),
        *(Column(f"{t.name}_{t.kind}", f"{t.name} ({t.kind})", right=True) for t in trials),
    )
    rows: list[tuple[Any, ...]] = [("splits keys", *(t.splits_keys for t in trials))]
    rows.append(("heaviest lane / lower bound", *(f"{t.over_bound:.3f}" for t in trials)))
    for cost in SCALARS:
        form = ",.0f" if cost in _WHOLE else ".3f"
        rows.append((_HEADINGS[cost], *(format(t.mean(cost), form) for t in trials)))
    if any(trial.moved is not None for trial in trials):
        moved = ("-" if t.moved is None else f"{t.moved:.1%}" for t in trials)
        rows.append(("weight moved per window", *moved))
    return Table(title, columns, rows)


def _draw_lanes(trials: list[Trial]) -> None:
    highest = max(float(trial.loads.max()) for trial in trials)
    out = console()
    width = max(len(trial.name) for trial in trials)
    out.print("Tuples per lane, all on one scale")
    for trial in trials:
        out.print(f"  {trial.name:<{width}}  {bars(trial.loads, highest)}", markup=False)


def _write(path: Path, table: Any, lanes: NDArray[np.int32]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.write_table(table.append_column("lane", pa.array(lanes)), path)
    except OSError as error:
        raise InvalidArgument(f"cannot write {path}: {error}") from error
    say(f"lanes written to {path}")
