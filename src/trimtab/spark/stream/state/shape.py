"""The columns of a stateful query: in lane files, and in the rows that move to a lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import pyarrow as pa
from pyspark.sql import types as T

from trimtab.errors import UnsupportedKeyType
from trimtab.journal.keyed.entries import FIXED
from trimtab.spark.columns import contains, hash_text, quoted, spare_names
from trimtab.spark.stream.state.conversions import arrow_schema

_NESTED = (T.ArrayType, T.StructType)

WATERMARK = "spark.watermarkDelayMs"
"""What Spark notes of a column that `withWatermark` was called with."""


class Kind(IntEnum):
    """What a row is that moves to a lane. Of one key, rows come in this order."""

    MARK = 0
    """There is one for each lane, so that every lane's task runs, with rows or without."""
    HELD_IN = 1
    """The key has come to this lane, with its state."""
    AWAITED_IN = 2
    """The key has come to this lane, without a state but with a timeout."""
    ROW = 3
    """A row of the batch."""


@dataclass(frozen=True)
class Shape:
    """Names and types of what a lane's task reads and writes.

    Attributes
    ----------
    rows
        Type of the rows of a batch.
    keys, names
        The columns of `rows` that hold the key, and what users call them.
    hidden
        Columns of ours among `rows`.
    state
        Type of a key's state.
    hash, check, kind, lane, timeout
        Names of our columns in the rows that move.
    values
        Names of the columns that carry a state which moves, one for each field of it.
    """

    rows: T.StructType
    keys: tuple[str, ...]
    names: tuple[str, ...]
    hidden: tuple[str, ...]
    state: T.StructType
    hash: str
    check: str
    kind: str
    lane: str
    timeout: str
    values: tuple[str, ...]

    @classmethod
    def of(
        cls,
        rows: T.StructType,
        keys: Sequence[str],
        names: Sequence[str],
        hidden: Sequence[str],
        state: T.StructType,
        taken: Sequence[str] = (),
    ) -> Self:
        """Choose names for our columns that no column of the user has, nor any of `taken`."""
        values = [f"state_{i}" for i in range(len(state.fields))]
        hashed, check, kind, lane, timeout, *values = spare_names(
            [*rows.names, *taken], "hash_of_key", "check", "kind", "lane_of_key", "timeout", *values
        )
        return cls(
            rows,
            tuple(keys),
            tuple(names),
            tuple(hidden),
            state,
            hashed,
            check,
            kind,
            lane,
            timeout,
            tuple(values),
        )

    @property
    def shown(self) -> list[T.StructField]:
        """The columns that a user's function sees."""
        return [field for field in self.rows.fields if field.name not in self.hidden]

    @property
    def key_type(self) -> T.StructType:
        """Type of the key, under the names that users know."""
        return T.StructType(
            [
                T.StructField(name, self.rows[key].dataType, True)
                for key, name in zip(self.keys, self.names, strict=True)
            ]
        )

    @property
    def entries(self) -> pa.Schema:
        """The columns of a lane file."""
        return pa.schema([*FIXED, *self.key_fields, *self.state_fields])

    @property
    def key_fields(self) -> list[pa.Field]:
        """The columns of a lane file that hold the key."""
        return [pa.field(f"key:{f.name}", f.type) for f in arrow_schema(self.key_type)]

    @property
    def state_fields(self) -> list[pa.Field]:
        """The columns of a lane file that hold the state."""
        return [pa.field(f"state:{f.name}", f.type) for f in arrow_schema(self.state)]

    @property
    def moved(self) -> T.StructType:
        """Type of the rows by which states move."""
        values = [
            T.StructField(name, field.dataType, True)
            for name, field in zip(self.values, self.state.fields, strict=True)
        ]
        keys = [T.StructField(key, self.rows[key].dataType, True) for key in self.keys]
        return T.StructType(
            [
                T.StructField(self.lane, T.IntegerType()),
                T.StructField(self.hash, T.LongType()),
                T.StructField(self.check, T.LongType()),
                T.StructField(self.kind, T.ByteType()),
                T.StructField(self.timeout, T.LongType()),
                *keys,
                *values,
            ]
        )


def key_hashes(fields: Sequence[T.StructField]) -> tuple[str, str]:
    """Return the SQL texts of the key's hash and of a second one, for keys of one hash.

    Spark's hash passes over nulls, so that the keys (null, 1) and (1, null) have one hash. Here
    nulls count, inside of arrays and structs as well.
    """
    parts = ["'check'"]
    for field in fields:
        name, kind = quoted(field.name), field.dataType
        parts += [name, f"{name} IS NULL"]
        if isinstance(kind, _NESTED):
            if contains(kind, (T.FloatType, T.DoubleType)):
                raise UnsupportedKeyType(
                    f"key column {field.name!r} is of type {kind.simpleString()}: state cannot be "
                    "kept by floating-point numbers inside of arrays and structs; use another "
                    "column, or an expression such as to_json(column)"
                )
            # A key is the same key in a session of another time zone.
            options = "'ignoreNullFields', 'false', 'timeZone', 'UTC'"
            parts.append(f"to_json(struct({name}), map({options}))")
    return hash_text([quoted(field.name) for field in fields]), hash_text(parts)
