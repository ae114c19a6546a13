"""Records that this process has already: dicts or Arrow tables, as a chunk like any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from trimtab.errors import InvalidArgument
from trimtab.receive.arrivals import Chunk

Offered: TypeAlias = Iterable[Mapping[str, Any]] | pa.Table | pa.RecordBatch


def offered(records: Offered, schema: pa.Schema) -> Chunk:
    """Return records as a chunk that holds an Arrow stream of a schema.

    Columns that the schema does not name are passed over, those that are missing are null.

    Parameters
    ----------
    records
        Dicts, an Arrow table or a record batch.
    schema
        The columns.

    Examples
    --------
    >>> schema = pa.schema({"k": pa.string(), "x": pa.int64()})
    >>> chunk = offered([{"k": "a", "z": 1}], schema)
    >>> chunk.records, pa.ipc.open_stream(chunk.data).read_all().to_pylist()
    (1, [{'k': 'a', 'x': None}])
    """
    if isinstance(records, pa.RecordBatch):
        records = pa.Table.from_batches([records])
    table = _columns(records, schema) if isinstance(records, pa.Table) else _rows(records, schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(table)
    return Chunk("arrow", sink.getvalue().to_pybytes(), table.num_rows)


def _rows(records: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    try:
        return pa.Table.from_pylist(list(records), schema)
    except (pa.ArrowException, TypeError, AttributeError, ValueError, OverflowError) as error:
        columns = ", ".join(f"{field.name} {field.type}" for field in schema)
        raise InvalidArgument(
            f"records are dicts with values for {columns}; these are not: {error}"
        ) from error


def _columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = []
    for column in schema:
        at = table.schema.get_field_index(column.name)
        if at < 0:
            columns.append(pa.nulls(table.num_rows, column.type))
            continue
        try:
            columns.append(table.column(at).cast(column.type))
        except pa.ArrowException as error:
            raise InvalidArgument(
                f"column {column.name!r} is {table.column(at).type}, the log has {column.type}: "
                f"{error}"
            ) from error
    return pa.table(columns, schema)
