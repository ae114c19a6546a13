"""Key columns, their hash, and spare names: what every operator asks of a frame.

Only the public DataFrame API is used, so that Spark Classic and Spark Connect behave alike.
Expressions are written as SQL text where they can be: every call of a column function is a
conversation with the Java process, and a stream would hold hundreds of them per batch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.errors import InvalidArgument, UnsupportedKeyType
from trimtab.spark.spark_text import aggregates_read, column_text, complaint, may_have_star

Keys: TypeAlias = str | Column | Sequence[str | Column]
"""How a caller names the key: one column or several, by name or as expressions."""


@dataclass(frozen=True)
class KeyColumns:
    """The key of a frame, checked: its columns and the hash that identifies it in every layer."""

    columns: tuple[Column, ...]
    fields: tuple[T.StructField, ...]
    plain: tuple[bool, ...]
    """Whether each column is one of the frame's, not an expression."""
    texts: tuple[str, ...] | None
    """The columns as SQL text; None if one of them was given as an expression."""

    @property
    def names(self) -> list[str]:
        """Names of the key columns, as the result will have them."""
        return [field.name for field in self.fields]

    @property
    def identity(self) -> list[list[str]]:
        """What makes the key this key: name, type and text of each column."""
        texts = map(column_text, self.columns) if self.texts is None else self.texts
        kinds = (field.dataType.simpleString() for field in self.fields)
        return [list(parts) for parts in zip(self.names, kinds, texts, strict=True)]

    @property
    def hash(self) -> Column:
        """The key's hash, a signed long whose bits are Trimtab's `uint64` key hash."""
        return F.xxhash64(*self.columns) if self.texts is None else F.expr(hash_text(self.texts))

    @property
    def label(self) -> Column:
        """The key as people read it: its parts as text, nulls as the word."""
        if self.texts is not None:
            return F.expr(label_text(self.texts))
        parts = (F.coalesce(c.cast("string"), F.lit("null")) for c in self.columns)
        return F.make_valid_utf8(F.concat_ws(", ", *parts))


def hash_text(columns: Iterable[str]) -> str:
    """Return the SQL text of the hash of columns, given as SQL text."""
    return f"xxhash64({', '.join(columns)})"


def label_text(columns: Iterable[str]) -> str:
    """Return the SQL text of a key's readable name."""
    parts = (f"coalesce(cast({column} AS string), 'null')" for column in columns)
    # Bytes, and texts made of them, need not be characters; what is not cannot come to the driver.
    return f"make_valid_utf8(concat_ws(', ', {', '.join(parts)}))"


def key_columns(df: DataFrame, keys: Keys) -> KeyColumns:
    """Check the key columns of `df`; every mistake is one sentence, before any job starts."""
    if not isinstance(df, DataFrame):
        raise InvalidArgument(f"expected a Spark DataFrame; got {type(df).__name__}")
    given = list(keys) if isinstance(keys, list | tuple) else [keys]
    if not given:
        raise InvalidArgument("no key column was given; name at least one column of the frame")
    names = df.columns
    texts = [None if isinstance(key, Column) else _named(df, names, key) for key in given]
    columns = [
        F.col(text) if text is not None else key for text, key in zip(texts, given, strict=True)
    ]
    try:
        fields = df.select(*columns).schema.fields
    except AnalysisException as error:
        raise InvalidArgument(
            f"the key cannot be read from the frame: {complaint(error)}"
        ) from error
    for field in fields:
        if contains(field.dataType, (T.MapType, T.VariantType)):
            raise UnsupportedKeyType(
                f"key column {field.name!r} is of type {field.dataType.simpleString()}, which "
                "Spark cannot hash; use another column, or an expression such as to_json(column)"
            )
        if collation(field.dataType):
            raise UnsupportedKeyType(
                f"key column {field.name!r} has collation {collation(field.dataType)}: different "
                "texts can be one key, and Spark has no hash for that; collate it UTF8_BINARY, or "
                "use an expression such as lower(column)"
            )
    found = [field.name for field in fields]
    twice = [name for name in found if found.count(name) > 1]
    if twice:
        raise InvalidArgument(f"key column {twice[0]!r} was given twice; name each column once")
    spelt = [key if text is None else text for key, text in zip(given, texts, strict=True)]
    plain = tuple(_is_plain(df, names, key, name) for key, name in zip(spelt, found, strict=True))
    known = tuple(text for text in texts if text is not None)
    return KeyColumns(
        tuple(columns), tuple(fields), plain, known if len(known) == len(texts) else None
    )


def _is_plain(df: DataFrame, names: list[str], key: str | Column, name: str) -> bool:
    """Tell whether a key, whose result is called `name`, is that very column of the frame."""
    if names.count(name) != 1:
        return False
    if isinstance(key, str):
        return key == quoted(name)
    # Its text would not tell: an alias has the name of a column that it is not, and on Connect
    # the literal 'user' is shown as the column `user` is.
    return bool(df.select(key).sameSemantics(df.select(quoted(name))))


def _named(df: DataFrame, names: list[str], key: object) -> str:
    """Return the SQL text of a column that a user has named."""
    if not isinstance(key, str):
        raise InvalidArgument(
            f"a key must be a column name or a Column; got {key!r} of type {type(key).__name__}"
        )
    count = names.count(key)
    if count > 1:
        raise InvalidArgument(
            f"column {key!r} stands {count} times in the frame; rename it so that one is meant"
        )
    if count == 1:
        return quoted(key)
    # Other spellings Spark knows: another case, backticks, or a field of a struct.
    path = _path(key)
    if path and _resolves(df.schema, path):
        return ".".join(map(quoted, path))
    return _of_alias(df, names, key)


def _of_alias(df: DataFrame, names: list[str], key: str) -> str:
    """Return the SQL text of a column that is named with an alias of its frame, as in `q.user`."""
    try:
        found = df.select(F.col(key))
        (name,) = found.columns
    except PySparkException:
        raise InvalidArgument(
            f"the frame has no column {key!r}; it has {', '.join(map(repr, names))}"
        ) from None
    # The alias is lost once rows have gone through Python: the bare name is not.
    if names.count(name) == 1 and found.sameSemantics(df.select(quoted(name))):
        return quoted(name)
    return ".".join(map(quoted, _path(key)))


_PART = r"(?:`(?:[^`]|``)+`|[^.`]+)"


def _path(key: str) -> list[str]:
    """Return the names that a dotted name consists of, empty if it is none: as Spark reads it."""
    if not re.fullmatch(rf"{_PART}(?:\.{_PART})*", key):
        return []
    parts = re.findall(_PART, key)
    return [part[1:-1].replace("``", "`") if part[0] == "`" else part for part in parts]


def is_field(df: DataFrame, key: str) -> bool:
    """Tell whether a name is, to Spark, that of a field in a struct of the frame."""
    path = _path(key)
    return len(path) > 1 and _resolves(df.schema, path)


def _resolves(kind: T.DataType, path: list[str]) -> bool:
    if not path:
        return True
    if not isinstance(kind, T.StructType):
        return False
    found = [field for field in kind.fields if field.name.lower() == path[0].lower()]
    return len(found) == 1 and _resolves(found[0].dataType, path[1:])


def quoted(name: str) -> str:
    """Return a column name in backticks, so that dots and spaces in it mean nothing."""
    return "`" + name.replace("`", "``") + "`"


def row_bytes_text(schema: T.StructType) -> str:
    """Return the SQL text of a row's approximate size: fixed widths, and the length of the rest.

    It is a plain number where all rows are of one size.
    """
    fixed, terms = 0, []
    for field in unique_fields(schema):
        column, kind = quoted(field.name), field.dataType
        if isinstance(kind, T.StringType | T.BinaryType):
            terms.append(f"coalesce(octet_length({column}), 0)")
        elif isinstance(kind, T.ArrayType | T.MapType | T.StructType | T.VariantType):
            terms.append(f"coalesce(octet_length(cast({column} AS string)), 0)")
        else:
            fixed += _WIDTHS.get(type(kind), 8)
    return " + ".join([str(fixed), *terms])


def unique_fields(schema: T.StructType) -> list[T.StructField]:
    """Return the fields that a name alone stands for, in any case of letters."""
    names = [name.lower() for name in schema.names]
    return [field for field in schema.fields if names.count(field.name.lower()) == 1]


_WIDTHS: dict[type[T.DataType], int] = {
    T.BooleanType: 1,
    T.ByteType: 1,
    T.ShortType: 2,
    T.IntegerType: 4,
    T.FloatType: 4,
    T.DateType: 4,
}


def collation(kind: T.DataType) -> str | None:
    """Return the collation under which texts of `kind` are compared, if not by their bytes."""
    if isinstance(kind, T.StringType):
        name = str(getattr(kind, "collation", None) or "UTF8_BINARY")
        return None if name.upper() == "UTF8_BINARY" else name
    if isinstance(kind, T.ArrayType):
        return collation(kind.elementType)
    if isinstance(kind, T.StructType):
        return next(filter(None, (collation(field.dataType) for field in kind.fields)), None)
    return None


def contains(kind: T.DataType, wanted: tuple[type[T.DataType], ...]) -> bool:
    """Tell whether `kind`, or a type inside it, is one of `wanted`."""
    if isinstance(kind, wanted):
        return True
    if isinstance(kind, T.ArrayType):
        return contains(kind.elementType, wanted)
    if isinstance(kind, T.MapType):
        return contains(kind.keyType, wanted) or contains(kind.valueType, wanted)
    if isinstance(kind, T.StructType):
        return any(contains(field.dataType, wanted) for field in kind.fields)
    return False


def takes_every_column(df: DataFrame, aggregate: Column) -> bool:
    """Tell whether an aggregate reads columns as `*`, of which any column of ours would be one.

    `count(*)` does not: it reads none. Nothing runs.
    """
    if not may_have_star(column_text(aggregate)):
        return False
    probe = spare_names(df.columns, "probe")[0]
    # At the beginning: Spark does not tell all of many columns.
    probed = df.select(F.lit(0).alias(probe), "*").groupBy().agg(aggregate)
    return aggregates_read(probed, probe)


def spare_names(taken: Iterable[str], *wanted: str) -> list[str]:
    """Return column names like `wanted` that no column of the user has, in any case of letters."""
    used = {name.lower() for name in taken}
    names = []
    for base in wanted:
        name, number = f"__trimtab_{base}", 0
        while name in used:
            number += 1
            name = f"__trimtab_{base}_{number}"
        used.add(name)
        names.append(name)
    return names
