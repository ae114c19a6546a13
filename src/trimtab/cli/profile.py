"""`trimtab profile`: shows which keys of a file or table are hot, and what would help."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trimtab._checks import lane_count, one_of, real, whole
from trimtab.cli.files import FORMATS, Keys, format_of
from trimtab.cli.output import AsJson, Check, Names, check_limit, examples, say, show
from trimtab.control.cost_model import Operator
from trimtab.errors import InvalidArgument
from trimtab.histogram import NAMES, UNITS
from trimtab.report import BatchFigures, Run, Table, pictures
from trimtab.report.html import Section, write_page
from trimtab.report.table import Column

if TYPE_CHECKING:
    from trimtab.spark.batch.skew_report import SkewReport

NAME = "profile"
EXAMPLES = examples(
    "trimtab profile clicks.parquet --key user",
    "trimtab profile clicks.csv -k country -k city --lanes 64 --html skew.html",
    "trimtab profile sales.orders --format table -k customer --json",
    "trimtab profile clicks.parquet -k user --names hash   # no name of a key is printed",
    "trimtab profile clicks.parquet -k user --check 2   # exit code 1 if max/mean is above 2",
)
_TABLE = "table"


def run(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A Parquet, CSV or JSON file, a directory of them, or with --format table a name.",
        ),
    ],
    key: Keys,
    lanes: Annotated[int, typer.Option("--lanes", "-n", help="Number of partitions.")] = 16,
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the weight of each row. Default: every row weighs 1.",
        ),
    ] = None,
    unit: Annotated[
        str, typer.Option(metavar="UNIT", help="What a weight is: rows, bytes or seconds.")
    ] = "rows",
    sample: Annotated[
        float | None, typer.Option(help="Share of the rows to look at, above 0 and up to 1.")
    ] = None,
    top: Annotated[int, typer.Option(help="How many hot keys to name.")] = 10,
    mergeable: Annotated[
        bool,
        typer.Option(
            "--mergeable", help="Partial results of a key can be merged: it may be split."
        ),
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT", help="parquet, csv, json or table. Default: told by the name."
        ),
    ] = None,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[*]",
    html: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write a page with pictures as well.")
    ] = None,
    names: Names = "plain",
    check: Check = None,
    as_json: AsJson = False,
) -> None:
    """Read a file or table once with Spark and show its skew."""
    lane_count(lanes, "--lanes")
    whole("--top", top, 1)
    one_of("--unit", unit, UNITS)
    one_of("--names", names, NAMES)
    if sample is not None:
        real("--sample", sample, 0, 1, low_open=True)
    if format is not None:
        one_of("--format", format, (*FORMATS, _TABLE))
    kind = _TABLE if format == _TABLE else format_of(Path(source), format)
    options = {
        "lanes": lanes,
        "weight": weight,
        "unit": unit,
        "sample": sample,
        "top": top,
        "names": names,
        "operator": Operator(split_keys=mergeable),
    }
    with tempfile.TemporaryDirectory(prefix="trimtab-") as scratch:
        found = _profiled(source, kind, key, options, master, Path(scratch))
    tables = [_facts(found), _hottest(found), _partitioners(found, top)]
    show(tables, found.to_dict(), as_json)
    if html is not None:
        say(f"page written to {_page(html, source, found, tables)}")
    check_limit("Spark's hash", found.max_over_mean, check)


def _profiled(
    name: str, kind: str, key: list[str], options: dict[str, Any], master: str, scratch: Path
) -> SkewReport:
    from pyspark.errors import AnalysisException

    from trimtab.spark.batch.profile import profile
    from trimtab.spark.local_session import local_session

    with local_session(scratch, master) as spark:
        try:
            if kind == _TABLE:
                df = spark.table(name)
            else:
                reader: Any = spark.read
                if kind == "csv":
                    reader = reader.option("header", True).option("inferSchema", True)
                df = reader.format(kind).load(str(Path(name).absolute()))
        except AnalysisException as error:
            sentence = str(error).splitlines()[0]
            raise InvalidArgument(f"cannot read {name} as {kind}: {sentence}") from error
        for column in (*key, *filter(None, [options["weight"]])):
            # Spark would say so itself, after a page of its own log.
            if column not in df.columns and column.partition(".")[0] not in df.columns:
                raise InvalidArgument(
                    f"{name} has no column {column!r}; it has {', '.join(df.columns)}"
                )
        return profile(df, key, **options)


def _facts(found: SkewReport) -> Table:
    about = "" if found.exact else "about "
    total = found.histogram.total
    rows = [
        ("rows", f"{about}{found.rows:,.0f}"),
        ("distinct keys", f"{about}{found.histogram.distinct:,}"),
        ("max/mean by Spark's hash", f"{found.max_over_mean:.3f} (Murmur3)"),
        ("best max/mean with whole keys", f"{found.best_whole_ratio:.3f}"),
        ("best max/mean if keys may be split", "1.000"),
        ("recommended", found.advice.recommended),
        ("because", found.advice.reason),
    ]
    if found.histogram.unit != "rows":
        rows.insert(1, ("weight", f"{total:,.6g} {found.histogram.unit}"))
    title = f"Skew of {', '.join(found.key)} on {found.lanes} lanes"
    return Table(title, (Column("fact", "fact"), Column("value", "value")), rows)


def _hottest(found: SkewReport) -> Table:
    return Table(
        "The hottest keys",
        (
            Column("key", "key"),
            Column("rows", "rows", ",.0f"),
            Column("share", "share", ".2%"),
            Column("lanes", "lanes' worth", ".2f"),
        ),
        [(hot.key, hot.rows, hot.share, hot.share * found.lanes) for hot in found.hottest],
    )


def _partitioners(found: SkewReport, most: int) -> Table:
    return Table(
        "What partitioners would give, best first",
        (
            Column("name", "partitioner"),
            Column("max_over_mean", "max/mean", ".3f"),
            Column("replication", "lanes per key", ".3f"),
            Column("allowed", "allowed here"),
            Column("note", "note"),
        ),
        [
            (row.name, row.max_over_mean, row.replication, row.allowed, row.note)
            for row in found.advice.table[:most]
        ],
    )


def _page(path: Path, source: str, found: SkewReport, tables: list[Table]) -> Path:
    by_hash = BatchFigures(
        batch=0,
        loads=found.spark_loads,
        bound=found.lower_bound,
        hottest=tuple((hot.key, hot.weight) for hot in found.hottest),
    )
    run = Run("Spark's hash", [by_hash], unit=found.histogram.unit)
    lead = (
        f"Under Spark's hash the heaviest of {found.lanes} partitions is "
        f"{found.max_over_mean:.2f} times the mean."
    )
    sections = [
        Section("What was found", tables=tables[:1]),
        Section("The load of the lanes", pictures=[pictures.lanes([run])]),
        Section("The hottest keys", tables=tables[1:2]),
        Section("What would help", tables=tables[2:]),
    ]
    return write_page(path, f"Skew of {', '.join(found.key)} in {source}", lead, sections)
