"""Spark's text of a schema, such as `k string, x long`, as an Arrow schema; Spark is not needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from trimtab.errors import InvalidArgument

_PLAIN: dict[str, Any] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "tinyint": pa.int8(),
    "short": pa.int16(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ltz": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMALS = ("decimal", "dec", "numeric")

ALLOWED = (
    "boolean, byte, short, int, long, float, double, decimal(p, s), string, binary, date, "
    "timestamp and timestamp_ntz"
)

_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\W\d]\w*|\d+)|('(?:[^'\\]|\\.)*')|([(),:]))")


class _Words:
    """The words of a text, one after the other; a name in back quotes is never a keyword."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = list(_split(text))
        self.at = 0

    def next_is(self, *wanted: str) -> bool:
        """Tell whether the next words are these, and go past them if they are."""
        found = self.words[self.at : self.at + len(wanted)]
        if [word.lower() for word, quoted in found if not quoted] != list(wanted):
            return False
        self.at += len(wanted)
        return True

    def take(self, what: str, fits: Callable[[str], bool] = str.isidentifier) -> str:
        word, quoted = self.words[self.at] if self.at < len(self.words) else ("", False)
        if not word or not (quoted or fits(word)):
            given = repr(word) if word else "the end of the text"
            raise _refused(self.text, f"{what} was expected, {given} was found")
        self.at += 1
        return word

    @property
    def over(self) -> bool:
        return self.at == len(self.words)


def arrow_schema(ddl: str) -> pa.Schema:
    """Return the Arrow schema that Spark's text of a schema stands for.

    Parameters
    ----------
    ddl
        Names and types as `spark.read.schema` takes them: `k string, x long`. Names with other
        signs than letters, digits and `_` stand in back quotes. Types are those that a line of JSON
        or CSV can hold; lists, maps and structs are refused. Every column may be null.

    Examples
    --------
    >>> arrow_schema("k string, `net price` decimal(10, 2), at timestamp")
    k: string
    net price: decimal128(10, 2)
    at: timestamp[us, tz=UTC]
    >>> arrow_schema("tags array<string>")
    Traceback (most recent call last):
        ...
    trimtab.errors.InvalidArgument: the schema 'tags array<string>' cannot be read: ...
    """
    if not isinstance(ddl, str):
        raise InvalidArgument(
            f"a schema is a text such as 'k string, x long'; got {type(ddl).__name__}"
        )
    words = _Words(ddl)
    fields: list[Any] = []
    while True:
        name = words.take("the name of a column")
        words.next_is(":")
        fields.append(pa.field(name, _type(words)))
        if words.next_is("not", "null"):
            raise _refused(ddl, f"column {name!r} is NOT NULL, and records may lack any column")
        if words.next_is("comment"):
            words.take("the text of a comment", lambda word: word.startswith("'"))
        if words.over:
            break
        if not words.next_is(","):
            raise _refused(ddl, f"a comma was expected after {name!r}")
    names = [field.name.lower() for field in fields]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise _refused(ddl, f"{sorted(twice)[0]!r} is there twice; Spark takes upper case as lower")
    return pa.schema(fields)


def _type(words: _Words) -> Any:
    word = words.take("a type").lower()
    if word in _PLAIN:
        return _PLAIN[word]
    if word not in _DECIMALS:
        raise _refused(words.text, f"there is no type {word!r} for records")
    precision, scale = 10, 0
    if words.next_is("("):
        precision = int(words.take("a precision", str.isdecimal))
        if words.next_is(","):
            scale = int(words.take("a scale", str.isdecimal))
        if not words.next_is(")"):
            raise _refused(words.text, "a closing bracket is missing")
    if not 1 <= precision <= 38 or scale > precision:
        raise _refused(
            words.text,
            f"decimal({precision}, {scale}) is none: the precision is 1 to 38, the scale at most "
            "as much",
        )
    return pa.decimal128(precision, scale)


def _split(text: str) -> Iterator[tuple[str, bool]]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise _refused(text, f"{text[at:].strip()[:20]!r} is neither a name nor a type")
        quoted, word, comment, sign = found.groups()
        yield (quoted.replace("``", "`"), True) if quoted else (word or comment or sign, False)
        at = found.end()


def _refused(text: str, why: str) -> InvalidArgument:
    return InvalidArgument(
        f"the schema {text!r:.200} cannot be read: {why}; give names and types as in "
        f"'k string, x long'; allowed are {ALLOWED}"
    )
