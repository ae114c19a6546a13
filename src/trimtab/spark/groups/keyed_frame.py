"""A frame whose key is made of columns it really has, so that it can be grouped and hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab.errors import InvalidArgument
from trimtab.spark.columns import KeyColumns, is_field, key_columns, spare_names

if TYPE_CHECKING:
    from pyspark.sql import GroupedData


@dataclass(frozen=True, eq=False)
class KeyedFrame:
    """A frame with its key; expressions among the key columns have become columns of ours.

    Attributes
    ----------
    df
        The frame, with the columns `added` at its end.
    key
        The key, read from columns of `df`.
    names
        Names of the columns of `df` that hold the key.
    grouping
        What to group by: the key columns under the names they have in results.
    added
        Our columns, which a user's function must not see.
    given, given_key
        The frame and its key columns without anything of ours.
    """

    df: DataFrame
    key: KeyColumns
    names: tuple[str, ...]
    grouping: tuple[Column, ...]
    added: tuple[str, ...]
    given: DataFrame
    given_key: tuple[Column, ...]

    @classmethod
    def by(cls, df: DataFrame, keys: Sequence[Any]) -> Self:
        """Return `df` with what `groupBy` takes as key: names, expressions, numbers, or nothing."""
        if not isinstance(df, DataFrame):
            raise InvalidArgument(f"expected a Spark DataFrame; got {type(df).__name__}")
        if not len(keys):
            return cls.of(df, KeyColumns((), (), (), ()))
        return cls.of(df, key_columns(df, _as_grouped(df, keys)))

    @classmethod
    def of(cls, df: DataFrame, key: KeyColumns) -> Self:
        """Return `df` with a column for each part of the key that is an expression."""
        expressions = [i for i, plain in enumerate(key.plain) if not plain]
        added = spare_names(df.columns, *(f"key_{i}" for i in expressions))
        columns, grouping, names = list(key.columns), list(key.columns), key.names
        for i, name in zip(expressions, added, strict=True):
            names[i] = name
            columns[i] = F.col(name)
            grouping[i] = F.col(name).alias(key.names[i])
        extra = [key.columns[i].alias(name) for i, name in zip(expressions, added, strict=True)]
        return cls(
            df.select("*", *extra) if extra else df,
            KeyColumns(tuple(columns), key.fields, key.plain, key.texts),
            tuple(names),
            tuple(grouping),
            tuple(added),
            df,
            key.columns,
        )

    @property
    def by_spark(self) -> GroupedData:
        """The frame as Spark itself groups it."""
        return self.given.groupBy(*self.given_key)

    @property
    def hash(self) -> Column:
        """The key's hash."""
        return self.key.hash

    def spare(self, wanted: str) -> str:
        """Return a name that no column has."""
        return spare_names(self.df.columns, wanted)[0]


def _as_grouped(df: DataFrame, keys: Sequence[Any]) -> list[Any]:
    """Return keys as `groupBy` means them where a name or a number could mean something else.

    Numbers are those of columns, of which the first is 1. `a.b` is the field of a struct `a`, even
    if there is a column of that name, too.
    """
    names: dict[Any, str] = dict(enumerate(df.columns, 1))

    def named(key: Any) -> Any:
        if isinstance(key, str) and key in df.columns and is_field(df, key):
            return F.col(key)
        if not isinstance(key, int) or isinstance(key, bool):
            return key
        if key not in names:
            df.groupBy(key)  # Spark says what is wrong with it
        return names[key]

    return [named(key) for key in keys]
