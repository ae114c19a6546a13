"""From lines of JSON or CSV to a table, all at once; lines that are no records are cut out.

A line is a record. Whole chunks of lines go through pyarrow's readers. Only where a chunk is
refused are its lines looked at, by halving.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from trimtab._checks import one_of
from trimtab.receive._base64 import decoded

FORMATS = ("json", "csv")

_LONGEST_REASON = 300


class Rejected(NamedTuple):
    """A line that is no record: its number in the chunk, what it holds, and why it was refused."""

    line: int
    text: bytes
    reason: str


class Parsed(NamedTuple):
    """The rows of a chunk, in order, and the lines that gave none."""

    table: pa.Table
    rejected: list[Rejected]


class Lines:
    r"""Reads lines as records of one schema.

    JSON: a line is one object. Fields that the schema does not name are passed over, those that are
    missing are null. Numbers, texts and booleans are not turned into each other. Dates and times
    are ISO texts (a timestamp without a zone is UTC), bytes are base64.

    CSV: a line has a value for every column, in the order of the schema, without a heading. An
    empty value is null, `""` an empty text. Timestamps carry their zone: `2026-01-31 12:00:00Z`.
    A line feed cannot be part of a value.

    Empty lines are passed over. Lines must be UTF-8.

    Parameters
    ----------
    schema
        Columns of the table.
    format
        "json" or "csv".

    Examples
    --------
    >>> lines = Lines(pa.schema({"k": pa.string(), "x": pa.int64()}), "json")
    >>> table, rejected = lines.parse(b'{"k": "a", "x": 1}\n{"k": "b", "x": "?"}\n')
    >>> table.to_pylist()
    [{'k': 'a', 'x': 1}]
    >>> rejected[0].line, rejected[0].text
    (1, b'{"k": "b", "x": "?"}')
    """

    def __init__(self, schema: pa.Schema, format: str) -> None:
        self.schema = schema
        self.format = one_of("format", format, FORMATS)
        # What the readers cannot make of a text themselves comes as text first.
        texts = [pa.binary()] if format == "csv" else [pa.binary(), pa.date32()]
        self._read_as = pa.schema(
            [(field.name, pa.string() if field.type in texts else field.type) for field in schema]
        )

    def parse(self, data: bytes) -> Parsed:
        """Return the rows of whole lines; the last one need not end with a line feed."""
        count = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
        try:
            return Parsed(self._rows(data, count), [])
        except (ValueError, pa.ArrowException):
            return self._one_by_one(data)

    def _rows(self, data: bytes, count: int) -> pa.Table:
        """Return the rows of exactly so many lines, or raise."""
        if not data.isascii():
            data.decode()
        self._check_lines(data, count)
        made = (self._json if self.format == "json" else self._csv)(data)
        if made.num_rows != count:
            raise ValueError("it is not one record")
        for at, field in enumerate(self.schema):
            if field.type != self._read_as.field(at).type:
                column = made.column(at)
                column = (
                    decoded(column) if pa.types.is_binary(field.type) else column.cast("date32")
                )
                made = made.set_column(at, field, column)
        return made

    def _check_lines(self, data: bytes, count: int) -> None:
        if self.format == "json":
            # Not only an early answer: pyarrow's reader dies of a block that holds but `null`.
            letters = np.frombuffer(data, np.uint8)
            starts = np.flatnonzero(letters[:-1] == ord("\n")) + 1
            if count and not (data.startswith(b"{") and (letters[starts] == ord("{")).all()):
                raise ValueError("it does not begin with '{' as JSON objects do")
        elif data.count(b"\r") != data.count(b"\r\n"):
            raise ValueError("it has a carriage return that does not end it")
        elif data.count(b'"') % 2:
            raise ValueError("a quote is not closed before the line ends")

    def _json(self, data: bytes) -> pa.Table:
        return pyarrow.json.read_json(
            pa.BufferReader(data),
            # In one block: a record is never too long for it, and no thread is waited for.
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            pyarrow.json.ParseOptions(
                explicit_schema=self._read_as, unexpected_field_behavior="ignore"
            ),
        )

    def _csv(self, data: bytes) -> pa.Table:
        return pyarrow.csv.read_csv(
            pa.BufferReader(data),
            pyarrow.csv.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=self.schema.names
            ),
            pyarrow.csv.ParseOptions(newlines_in_values=False),
            pyarrow.csv.ConvertOptions(
                column_types=self._read_as,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _one_by_one(self, data: bytes) -> Parsed:
        lines = [(at, line.strip()) for at, line in enumerate(data.split(b"\n"))]
        lines = [(at, line) for at, line in lines if line]
        rejected: list[Rejected] = []
        tables = [self.schema.empty_table(), *self._halved(lines, rejected)]
        return Parsed(pa.concat_tables(tables), rejected)

    def _halved(
        self, lines: list[tuple[int, bytes]], rejected: list[Rejected]
    ) -> Iterator[pa.Table]:
        if not lines:
            return
        try:
            yield self._rows(b"\n".join(line for _, line in lines) + b"\n", len(lines))
        except (ValueError, pa.ArrowException) as error:
            if len(lines) == 1:
                ((at, line),) = lines
                rejected.append(Rejected(at, line, _words(error)))
                return
            middle = len(lines) // 2
            yield from self._halved(lines[:middle], rejected)
            yield from self._halved(lines[middle:], rejected)


def _words(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"it is no UTF-8: {error.reason} at byte {error.start}"
    text = str(error).removesuffix(" in row 0").replace("Row #1: ", "")
    return text[:_LONGEST_REASON]
