"""Base64 of whole columns: JSON and CSV have no other way to hold bytes."""

from __future__ import annotations

import base64

import numpy as np
import pyarrow as pa
import pyarrow.compute

_NOT_BASE64, _PADDING = 255, 254


def _alphabet() -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    digits = base64.b64encode(bytes(range(256)) * 3)
    values = np.full(256, _NOT_BASE64, dtype=np.uint8)
    for at in range(0, len(digits), 4):
        word = int.from_bytes(base64.b64decode(digits[at : at + 4]), "big")
        for place in range(4):
            values[digits[at + place]] = word >> (18 - 6 * place) & 63
    values[ord("=")] = _PADDING
    return values


_VALUES = _alphabet()


def decoded(column: pa.ChunkedArray) -> pa.Array:
    """Return the bytes that a column of base64 texts stands for; nulls stay null.

    All texts are decoded at once: each is a whole number of groups of four letters, so that one
    after the other they are groups of four letters, too.

    Raises
    ------
    ValueError
        If a text is no base64.
    """
    texts = column.combine_chunks().fill_null("")
    if isinstance(texts, pa.ChunkedArray):
        texts = pa.concat_arrays(texts.chunks)
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, 4 * texts.offset)
    data = texts.buffers()[2]
    letters = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
    starts = (offsets - offsets[0]).astype(np.int64)
    values = _VALUES[letters]
    lengths = np.diff(starts)
    padded = values == _PADDING
    padding = np.diff(np.concatenate(([0], np.cumsum(padded)))[starts])
    # Padding may only be the last letter of a text, or the last two.
    ends = starts[1:][lengths > 0]
    at_end = np.zeros(letters.size, dtype=bool)
    at_end[ends - 1] = padded[ends - 1]
    at_end[ends - 2] = padded[ends - 2] & padded[ends - 1]
    if (lengths % 4).any() or (values == _NOT_BASE64).any() or (padded & ~at_end).any():
        raise ValueError("a value of a binary column is no base64")
    words = np.where(padded, 0, values).reshape(-1, 4).astype(np.uint32)
    bits = words[:, 0] << 18 | words[:, 1] << 12 | words[:, 2] << 6 | words[:, 3]
    made = np.stack([bits >> 16, bits >> 8 & 255, bits & 255], axis=1).astype(np.uint8).ravel()
    sizes = lengths // 4 * 3
    # What the padding stands for are the last bytes of a value: they are left out.
    kept = np.ones(made.size, dtype=bool)
    last = np.cumsum(sizes)
    kept[last[padding >= 1] - 1] = False
    kept[last[padding == 2] - 2] = False
    places = np.concatenate(([0], np.cumsum(sizes - padding))).astype(np.int32)
    buffers = [None, pa.py_buffer(places), pa.py_buffer(made[kept])]
    found = pa.Array.from_buffers(pa.binary(), len(texts), buffers)
    return pyarrow.compute.if_else(column.combine_chunks().is_valid(), found, None)
