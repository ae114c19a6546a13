"""Tables of entries for the tests of lane files."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from trimtab.journal.keyed.entries import FIXED

SCHEMA = pa.schema([*FIXED, pa.field("key:k", pa.int64()), pa.field("state:v", pa.int64())])

Entry = tuple[int, int, int, int, int]
"""Hash, check, kind, timeout and value."""


def table(entries: Iterable[Entry]) -> pa.Table:
    """Return entries as a table of `SCHEMA`; the key's column repeats its hash."""
    rows = [(h, c, kind, time, h, value) for h, c, kind, time, value in entries]
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in SCHEMA]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)],
        schema=SCHEMA,
    )
