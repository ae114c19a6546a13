"""The keys of a join: columns of both sides that must be equal, read from what the user gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.errors import InvalidArgument, UnsupportedKeyType
from trimtab.spark.columns import hash_text, key_columns, quoted
from trimtab.spark.spark_text import column_text, equalities

_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark keeps the type of a column that was declared as `char` or `varchar`, a text to it."""


@dataclass(frozen=True)
class SideKeys:
    """The key columns of one side, and the types in which they are compared with the other's."""

    names: list[str]
    types: list[T.DataType]

    @property
    def columns(self) -> list[Column]:
        """The key columns, in the types in which both sides can be compared."""
        pairs = zip(self.names, self.types, strict=True)
        return [F.col(quoted(name)).cast(kind) for name, kind in pairs]

    @property
    def hash(self) -> Column:
        """The key's hash; keys that are equal have equal hashes on both sides."""
        return F.xxhash64(*self.columns)

    @property
    def hash_text(self) -> str:
        """The same as SQL text."""
        pairs = zip(self.names, self.types, strict=True)
        # Only numbers may differ from side to side, and names in a struct need not be SQL.
        return hash_text(
            f"cast({quoted(name)} AS {kind.simpleString()})"
            if isinstance(kind, T.NumericType)
            else quoted(name)
            for name, kind in pairs
        )

    @property
    def value(self) -> Column:
        """The key itself, in a form in which both sides can be compared."""
        return F.struct(*(part.alias(f"part_{i}") for i, part in enumerate(self.columns)))

    @property
    def has_null(self) -> Column:
        """Whether a part of the key is missing: such a row matches nothing."""
        return F.expr(self.has_null_text)

    @property
    def has_null_text(self) -> str:
        """The same as SQL text."""
        return " OR ".join(f"{quoted(name)} IS NULL" for name in self.names)


@dataclass(frozen=True)
class JoinKeys:
    """The keys of both sides.

    Attributes
    ----------
    left, right
        The key columns of each side, in the same order.
    merged
        Whether the result has one column for each pair, as it has for keys that were given by
        name, or both.
    """

    left: SideKeys
    right: SideKeys
    merged: bool

    @classmethod
    def by_name(cls, left: DataFrame, right: DataFrame, names: list[str]) -> Self | None:
        """Check keys that both sides have under the same names; None if Spark must compare them."""
        if not names or not all(isinstance(name, str) for name in names):
            raise InvalidArgument(
                "on must be the name, or names, of columns that both frames have, or conditions "
                f"as Columns; got {names!r}"
            )
        types = _common_types(left, right, names, names)
        return None if types is None else cls(SideKeys(names, types), SideKeys(names, types), True)

    @classmethod
    def by_condition(
        cls, left: DataFrame, right: DataFrame, conditions: Sequence[Column]
    ) -> Self | None:
        """Return the keys that are equal under `conditions`; None if they say anything else."""
        pairs = _equal_columns(left, right, conditions)
        if pairs is None:
            return None
        ours, theirs = [list(names) for names in zip(*pairs, strict=True)]
        try:
            types = _common_types(left, right, ours, theirs)
        except (InvalidArgument, UnsupportedKeyType):
            # Spark knows how to compare what has no common hash.
            return None
        if types is None:
            return None
        return cls(SideKeys(ours, types), SideKeys(theirs, types), False)

    def __str__(self) -> str:
        """Return the keys as people read them."""
        if self.merged:
            return ", ".join(self.left.names)
        pairs = zip(self.left.names, self.right.names, strict=True)
        return ", ".join(f"{one} = {other}" for one, other in pairs)


def _equal_columns(
    left: DataFrame, right: DataFrame, conditions: Sequence[Column]
) -> list[tuple[str, str]] | None:
    """Return the columns of the left and of the right that must be equal, if that is all.

    What a condition says is guessed from its text, in which nothing tells the two sides apart.
    Spark then compares the guess with the condition.
    """
    pairs: list[tuple[str, str]] = []
    for condition in conditions:
        for one, other in equalities(column_text(condition)) or [("", "")]:
            if _has_one(left, one) and _has_one(right, other):
                pairs.append((one, other))
            elif _has_one(left, other) and _has_one(right, one):
                pairs.append((other, one))
            else:
                return None
    guess = reduce(and_, (left[one] == right[other] for one, other in pairs))
    asked = left.join(right, list(conditions))
    return pairs if asked.sameSemantics(left.join(right, guess)) else None


def _has_one(df: DataFrame, name: str) -> bool:
    return [column.lower() for column in df.columns].count(name.lower()) == 1


def _common_types(
    left: DataFrame, right: DataFrame, ours: list[str], theirs: list[str]
) -> list[T.DataType] | None:
    """Return the type in which each key is compared; equal keys must have equal hashes.

    None if Spark may pad the texts of one side before it compares them: as it does where both are
    `char`, or have such a part, of other lengths.
    """
    fields = key_columns(left, ours).fields, key_columns(right, theirs).fields
    types = []
    for one, other in zip(*fields, strict=True):
        lengths = [field.metadata.get(_DECLARED) for field in (one, other)]
        if None not in lengths and lengths[0] != lengths[1]:
            return None
        kinds = (one.dataType, other.dataType)
        if kinds[0] == kinds[1]:
            types.append(kinds[0])
        elif all(isinstance(kind, T.NumericType) for kind in kinds):
            widened = left.select(quoted(one.name)).union(right.select(quoted(other.name)))
            types.append(widened.schema.fields[0].dataType)
        else:
            raise InvalidArgument(
                f"key {one.name!r} is {kinds[0].simpleString()} on the left and "
                f"{kinds[1].simpleString()} on the right; cast one of them"
            )
    return types
