"""How large the states of keys are, one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def entry_bytes(table: pa.Table) -> NDArray[np.int64]:
    """Return the bytes of each row, about: fixed widths, lengths of texts, eight per list item.

    >>> entry_bytes(pa.table({"a": [1, 2], "b": ["x", "four"]})).tolist()
    [9, 12]
    """
    sizes = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.columns:
        kind = column.type
        if pa.types.is_binary(kind) or pa.types.is_string(kind):
            lengths = pc.binary_length(column)
        elif pa.types.is_list(kind) or pa.types.is_map(kind):
            lengths = pc.multiply(pc.list_value_length(column.cast(_as_list(kind))), 8)
        else:
            sizes += kind.bit_width // 8 if _has_width(kind) else 8
            continue
        sizes += pc.fill_null(lengths, 0).to_numpy().astype(np.int64)
    return sizes


def _has_width(kind: pa.DataType) -> bool:
    return pa.types.is_primitive(kind) and not pa.types.is_boolean(kind)


def _as_list(kind: pa.DataType) -> pa.DataType:
    """Return the type of a list; a map is a list of pairs."""
    if not pa.types.is_map(kind):
        return kind
    pair = pa.struct([pa.field("key", kind.key_type, nullable=False), ("value", kind.item_type)])
    return pa.list_(pair)
