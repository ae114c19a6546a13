"""A frame whose key is made of columns it really has, so that it can be grouped and hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab.spark.columns import KeyColumns, spare_names


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
    """

    df: DataFrame
    key: KeyColumns
    names: tuple[str, ...]
    grouping: tuple[Column, ...]
    added: tuple[str, ...]

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
        )

    @property
    def hash(self) -> Column:
        """The key's hash."""
        return self.key.hash

    def spare(self, wanted: str) -> str:
        """Return a name that no column has."""
        return spare_names(self.df.columns, wanted)[0]
