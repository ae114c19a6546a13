"""Users' functions of a group, wrapped so that columns of ours never reach them."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

PANDAS, ARROW = "applyInPandas", "applyInArrow"
"""The two calls that take a function of a group, by Spark's names."""


def takes_key(func: Callable[..., Any], frames: int = 1) -> bool:
    """Tell whether `func` asks for the key before its frames."""
    return len(inspect.signature(func).parameters) == frames + 1


def takes_iterator(func: Callable[..., Any]) -> bool:
    """Tell, by its type hints as Spark does, whether `func` takes its group in pieces."""
    try:
        hints = typing.get_type_hints(func)
    except (NameError, TypeError):
        return False
    hints.pop("return", None)
    return any(typing.get_origin(hint) is collections.abc.Iterator for hint in hints.values())


def without_columns(
    func: Callable[..., Any], hidden: Sequence[str], method: str, leading_keys: int = 1
) -> Callable[..., Any]:
    """Return a function that drops `hidden` columns, and the first keys, before it calls `func`."""
    names = list(hidden)
    if takes_iterator(func):
        pieces = _pandas_pieces if method == PANDAS else _arrow_pieces
        return pieces(func, names, leading_keys)
    if takes_key(func):

        def with_key(key: tuple[Any, ...], rows: Any) -> Any:
            return func(key[leading_keys:], drop(rows, names))

        return with_key
    if not names:
        return func

    def plain(rows: Any) -> Any:
        return func(drop(rows, names))

    return plain


def without_columns_of_both(
    func: Callable[..., Any], left: Sequence[str], right: Sequence[str], leading_keys: int = 1
) -> Callable[..., Any]:
    """Return the same for a function of two frames."""
    here, there = list(left), list(right)
    if takes_key(func, 2):

        def with_key(key: tuple[Any, ...], first: Any, second: Any) -> Any:
            return func(key[leading_keys:], drop(first, here), drop(second, there))

        return with_key

    def plain(first: Any, second: Any) -> Any:
        return func(drop(first, here), drop(second, there))

    return plain


def drop(rows: Any, names: list[str]) -> Any:
    """Return pandas or Arrow rows without the columns called `names`; a pandas frame is changed."""
    if not names:
        return rows
    if isinstance(rows, pd.DataFrame):
        # In place, since nobody else has this frame: a copy would be the dearest part of a group.
        for name in names:
            del rows[name]
        return rows
    return rows.drop_columns(names)


def _pandas_pieces(
    func: Callable[..., Any], names: list[str], leading_keys: int
) -> Callable[..., Any]:
    # Spark reads the kind of function from these hints.
    if takes_key(func):

        def with_key(
            key: tuple[Any, ...], pieces: Iterator[pd.DataFrame]
        ) -> Iterator[pd.DataFrame]:
            yield from func(key[leading_keys:], (drop(piece, names) for piece in pieces))

        return with_key

    def plain(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield from func(drop(piece, names) for piece in pieces)

    return plain


def _arrow_pieces(
    func: Callable[..., Any], names: list[str], leading_keys: int
) -> Callable[..., Any]:
    if takes_key(func):

        def with_key(
            key: tuple[pa.Scalar, ...], pieces: Iterator[pa.RecordBatch]
        ) -> Iterator[pa.RecordBatch]:
            yield from func(key[leading_keys:], (drop(piece, names) for piece in pieces))

        return with_key

    def plain(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from func(drop(piece, names) for piece in pieces)

    return plain
