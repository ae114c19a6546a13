"""Key hashes: the one 64-bit number that stands for a key in every layer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types
from numpy.typing import DTypeLike, NDArray

from trimtab import _xxhash64
from trimtab.errors import InvalidArgument, UnsupportedKeyType

Hashes = NDArray[np.uint64]
Hasher = Callable[[Any, Hashes], None]
"""Takes an Arrow array and the seeds of its rows, and turns the seeds into hashes in place."""

MAX_LONG_DIGITS = 18
"""Spark keeps and hashes decimals of up to this precision as longs, longer ones as bytes."""


def hash_keys(values: Any, *more: Any) -> Hashes:
    """Return the hash of each key exactly as Spark's `xxhash64` gives it (there as a signed long).

    `hash_keys(a, b)[i] == xxhash64(a[i], b[i])`, bit for bit: Spark hashes the first column with
    seed 42, and each further column with the hash so far as its seed. A null leaves the hash as
    it is, so that a null key hashes to 42.

    Parameters
    ----------
    values
        One column of keys: a numpy array, an Arrow array or chunked array, a pandas series, or a
        list of Python values. Or several columns at once: an Arrow table, record batch or struct
        array, or a pandas data frame.
    *more
        Further columns of the same key, all of one length. `hash_keys(["a", "b"])` has one column
        and two rows; `hash_keys(["a"], ["b"])` has two columns and one row.

    Returns
    -------
    numpy.ndarray
        A uint64 for each row.

    Raises
    ------
    UnsupportedKeyType
        If Spark has no such type, or hashes it in a way that is not offered here: lists, maps,
        intervals, times of day, half floats, uint64, decimals of more than 18 digits.
    InvalidArgument
        If something else than columns is given, or columns of unequal length.

    Examples
    --------
    >>> import numpy as np
    >>> from trimtab import hash_keys
    >>> hash_keys(["ann", "bob", None])
    array([7160020621161744715, 5911172816241722635,                  42], dtype=uint64)
    >>> hash_keys(np.array([1, 2]), ["ann", "bob"])
    array([18440652347043921854, 17236761915968751786], dtype=uint64)

    References
    ----------
    Yann Collet, xxHash fast digest algorithm, version 0.1.1, section "XXH64 algorithm
    description". Apache Spark, SQL function `xxhash64`.

    Notes
    -----
    The type is part of the key, as it is for Spark: the int 1 and the bigint 1 have different
    hashes, while bytes, shorts, ints and dates of one number share theirs. Python integers are
    bigints, as Spark infers them.

    Some inputs do not say which Spark type they stand for. They are read like this:

    - uint8, uint16 and uint32 become smallint, int and bigint, as Spark reads them from Parquet.
    - Timestamps count microseconds since 1970 in UTC, finer ones rounded down. One without a time
      zone is taken as it stands, which is Spark's TIMESTAMP_NTZ; it equals TIMESTAMP only if
      Spark's session time zone is UTC.
    - NaN in a pandas series of numpy floats is null, as it is when Spark takes over a pandas data
      frame. In numpy and Arrow arrays it is NaN. All NaNs hash alike, and -0.0 hashes as 0.0.
    - Python's Decimal does not tell the precision of its column, on which the hash depends: pass
      an Arrow array of the column's decimal type.
    - Strings are hashed by their UTF-8 bytes, which is Spark's default collation, UTF8_BINARY.
    """
    columns = [column for given in (values, *more) for column in _columns(given)]
    rows = {len(column) for column in columns}
    if len(rows) != 1:
        given = "no column at all" if not rows else f"lengths {[len(column) for column in columns]}"
        raise InvalidArgument(f"key columns must be at least one and equally long; got {given}")
    hashes = np.full(rows.pop(), _xxhash64.SEED, dtype=np.uint64)
    hashers = [_hasher(column.type) for column in columns]
    for column, hasher in zip(columns, hashers, strict=True):
        done = 0
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            if len(chunk):
                hasher(chunk, hashes[done : done + len(chunk)])
            done += len(chunk)
    return hashes


def _columns(given: Any) -> list[Any]:
    """Return the Arrow arrays and chunked arrays that an argument of `hash_keys` stands for."""
    if isinstance(given, pa.Table | pa.RecordBatch):
        return list(given.columns)
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return [given]
    # A pandas object can only be there if pandas is; importing it here would cost half a second.
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(given, pandas.DataFrame):
        return [_from_pandas(given.iloc[:, i]) for i in range(given.shape[1])]
    if pandas is not None and isinstance(given, pandas.Series | pandas.Index):
        return [_from_pandas(given)]
    if isinstance(given, np.ndarray):
        return [_from_numpy(given)]
    if isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable):
        raise InvalidArgument(
            f"keys must be columns (arrays, series, tables or lists of values); got {given!r}"
        )
    return [_to_arrow(given, inferred=True)]


def _from_pandas(series: Any) -> Any:
    return _to_arrow(series, inferred=series.dtype == object, from_pandas=True)


def _from_numpy(array: NDArray[Any]) -> Any:
    if array.ndim != 1:
        raise InvalidArgument(
            f"a key column must be one-dimensional; got {array.ndim} dimensions; "
            f"pass several columns one after the other"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return _to_arrow(array, inferred=array.dtype == object)


def _to_arrow(values: Any, inferred: bool, from_pandas: bool = False) -> Any:
    """Convert to Arrow; `inferred` says that the type is guessed from Python objects."""
    try:
        array = pa.array(values, from_pandas=from_pandas)
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError) as error:
        raise UnsupportedKeyType(
            f"cannot hash these keys: Arrow cannot read them as a column of one type ({error}); "
            f"pass an Arrow array, and several columns as hash_keys(first, second)"
        ) from error
    if inferred and types.is_decimal(array.type):
        raise UnsupportedKeyType(
            "cannot hash Python decimals: the hash depends on the precision of Spark's column, "
            "which they do not tell; pass an Arrow array of the column's type, such as "
            "pyarrow.array(values, pyarrow.decimal128(10, 2))"
        )
    return array


def _hasher(kind: pa.DataType) -> Hasher:
    """Return the function that hashes arrays of this type, or refuse the type by name."""
    if types.is_null(kind):
        return lambda array, hashes: None
    for cast_to, kernel, kinds in _INTEGERS:
        if kind in kinds:
            return lambda array, hashes: _hash_fixed(kernel, array.cast(cast_to), hashes)
    if types.is_float32(kind):
        return lambda array, hashes: _hash_fixed(
            _xxhash64.hash_floats, array.view(pa.int32()), hashes
        )
    if types.is_float64(kind):
        return lambda array, hashes: _hash_fixed(
            _xxhash64.hash_doubles, array.view(pa.int64()), hashes
        )
    if types.is_timestamp(kind):
        return _hash_timestamps
    if types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= MAX_LONG_DIGITS:
        return _hash_decimals
    if types.is_string(kind) or types.is_binary(kind):
        return _hash_strings
    if types.is_large_string(kind) or types.is_large_binary(kind):
        return _hash_strings
    if types.is_string_view(kind):
        return lambda array, hashes: _hash_strings(array.cast(pa.large_string()), hashes)
    if types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return lambda array, hashes: _hash_strings(array.cast(pa.large_binary()), hashes)
    if types.is_dictionary(kind):
        of_values = _hasher(kind.value_type)
        return lambda array, hashes: _hash_dictionary(of_values, array, hashes)
    if types.is_struct(kind):
        of_fields = [_hasher(field.type) for field in kind]
        return lambda array, hashes: _hash_struct(of_fields, array, hashes)
    raise UnsupportedKeyType(f"cannot hash keys of type {kind}: {_why_not(kind)}")


_INTEGERS: list[tuple[Any, Callable[..., None], tuple[Any, ...]]] = [
    (pa.int32(), _xxhash64.hash_ints, (pa.bool_(), pa.int8(), pa.int16(), pa.int32())),
    (pa.int32(), _xxhash64.hash_ints, (pa.uint8(), pa.uint16(), pa.date32())),
    (pa.int64(), _xxhash64.hash_longs, (pa.int64(), pa.uint32())),
]
"""What to cast to, which kernel to call, and for which types."""


def _why_not(kind: pa.DataType) -> str:
    """Say why a type is refused and what to do instead."""
    if types.is_uint64(kind):
        return "Spark would hold it as decimal(20,0), not as a long; cast it to int64"
    if types.is_float16(kind):
        return "Spark has no half floats; cast it to float32"
    if types.is_date64(kind):
        return "Spark's dates are days; cast it to date32"
    if types.is_decimal(kind):
        return (
            f"only decimals of at most {MAX_LONG_DIGITS} digits, with a scale between 0 and the "
            f"precision, are hashed as longs; cast it, or use strings, here and in Spark"
        )
    return (
        "allowed are booleans, integers, floats, strings, binaries, dates, timestamps, decimals of "
        f"at most {MAX_LONG_DIGITS} digits, and structs of these; pass several columns as "
        "hash_keys(first, second)"
    )


def _read(buffer: Any, dtype: DTypeLike, start: int, count: int) -> NDArray[Any]:
    """View part of an Arrow buffer, always read-only and aligned: one type for the compiler."""
    if buffer is None or count == 0:
        view: NDArray[Any] = np.empty(0, dtype=dtype)
    else:
        size = np.dtype(dtype).itemsize
        view = np.frombuffer(buffer, dtype=dtype, count=count, offset=start * size)
        if not view.flags.aligned:
            view = view.copy()
    view.flags.writeable = False
    return view


def _validity(array: Any) -> tuple[NDArray[np.uint8], int]:
    """Return the validity bitmap, empty if there are no nulls, and the bit of the first row."""
    buffer = array.buffers()[0] if array.null_count else None
    return _read(buffer, np.uint8, 0, buffer.size if buffer is not None else 0), array.offset


def _hash_fixed(kernel: Callable[..., None], array: Any, hashes: Hashes) -> None:
    dtype = np.int32 if array.type.bit_width == 32 else np.int64
    kernel(_read(array.buffers()[1], dtype, array.offset, len(array)), *_validity(array), hashes)


def _hash_timestamps(array: Any, hashes: Hashes) -> None:
    if array.type.unit == "ns":
        nanos = _read(array.buffers()[1], np.int64, array.offset, len(array))
        micros = nanos // 1000
        micros.flags.writeable = False
        _xxhash64.hash_longs(micros, *_validity(array), hashes)
        return
    try:
        array = array.cast(pa.timestamp("us", array.type.tz))
    except pa.ArrowInvalid as error:
        raise InvalidArgument(
            f"cannot hash these timestamps: Spark counts microseconds in 64 bits ({error})"
        ) from error
    _hash_fixed(_xxhash64.hash_longs, array.cast(pa.int64()), hashes)


def _hash_decimals(array: Any, hashes: Hashes) -> None:
    buffer, width = array.buffers()[1], array.type.byte_width
    if width == 4:
        longs = _read(buffer, np.int32, array.offset, len(array)).astype(np.int64)
    else:
        # Little-endian words: of so short a decimal the first one is the whole number.
        words = width // 8
        longs = _read(buffer, np.int64, array.offset * words, len(array) * words)[::words].copy()
    longs.flags.writeable = False
    _xxhash64.hash_longs(longs, *_validity(array), hashes)


def _hash_strings(array: Any, hashes: Hashes) -> None:
    large = types.is_large_string(array.type) or types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    _xxhash64.hash_bytes(
        _read(offsets, np.int64 if large else np.int32, array.offset, len(array) + 1),
        _read(data, np.uint8, 0, data.size if data is not None else 0),
        *_validity(array),
        hashes,
    )


def _hash_dictionary(of_values: Hasher, array: Any, hashes: Hashes) -> None:
    dictionary = array.dictionary
    if len(dictionary) > len(array) or (hashes != _xxhash64.SEED).any():
        of_values(array.dictionary_decode(), hashes)
        return
    # All rows have the same seed: hash each distinct value once. The last entry is for nulls.
    table = np.full(len(dictionary) + 1, _xxhash64.SEED, dtype=np.uint64)
    of_values(dictionary, table[:-1])
    codes = array.indices.cast(pa.int64()).fill_null(len(dictionary))
    np.take(table, codes.to_numpy(), out=hashes, mode="clip")


def _hash_struct(of_fields: list[Hasher], array: Any, hashes: Hashes) -> None:
    # `flatten` hands the nulls of the struct down to its fields.
    for field, hasher in zip(array.flatten(), of_fields, strict=True):
        hasher(field, hashes)
