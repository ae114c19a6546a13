"""Key columns out of Parquet, CSV or JSON files, as Arrow, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from trimtab._checks import one_of
from trimtab.errors import InvalidArgument

FORMATS = ("parquet", "csv", "json")

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A Parquet, CSV or JSON-lines file, or a directory of them."
    ),
]
Keys = Annotated[
    list[str],
    typer.Option("--key", "-k", metavar="COLUMN", help="Key column; repeat it for composite keys."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="FORMAT", help="parquet, csv or json. Default: told by the name."
    ),
]


def format_of(path: Path, given: str | None) -> str:
    """Tell the format of a file, or of the files in a directory, by name."""
    if not path.exists():
        raise InvalidArgument(f"no such file or directory: {path}")
    if given is not None:
        return one_of("format", given, FORMATS)
    names = [path.name] if path.is_file() else [p.name for p in sorted(path.rglob("*"))]
    for name in names:
        suffixes = [suffix.lower() for suffix in Path(name).suffixes]
        for known, endings in (
            ("parquet", (".parquet", ".pq")),
            ("csv", (".csv",)),
            ("json", (".json", ".jsonl", ".ndjson")),
        ):
            if any(suffix in endings for suffix in suffixes):
                return known
    raise InvalidArgument(
        f"cannot tell the format of {path} by its name; say --format parquet, csv or json"
    )


def read_columns(path: Path, columns: Sequence[str], given: str | None = None) -> Any:
    """Read some columns of a file into an Arrow table."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    kind = format_of(path, given)
    try:
        data = ds.dataset(path, format=kind)
        missing = [column for column in columns if column not in data.schema.names]
        if missing:
            raise InvalidArgument(
                f"{path} has no column {missing[0]!r}; it has {', '.join(data.schema.names)}"
            )
        return data.to_table(columns=list(columns)).combine_chunks()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidArgument(f"cannot read {path} as {kind}: {reason}") from error
