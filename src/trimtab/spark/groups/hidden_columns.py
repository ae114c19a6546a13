"""Users' functions of a group, wrapped so that columns of ours never reach them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from trimtab.spark.groups.user_functions import PANDAS, named_after, takes_iterator, takes_key


def without_columns(
    func: Callable[..., Any], hidden: Sequence[str], method: str, leading_keys: int = 1
) -> Callable[..., Any]:
    """Return a function that drops `hidden` columns, and the first keys, before it calls `func`."""
    names = list(hidden)
    if takes_iterator(func, method):
        pieces = _pandas_pieces if method == PANDAS else _arrow_pieces
        return pieces(func, names, leading_keys)
    if takes_key(func):

        def with_key(key: tuple[Any, ...], rows: Any) -> Any:
            return func(key[leading_keys:], drop(rows, names))

        return named_after(with_key, func)
    if not names:
        return func

    def plain(rows: Any) -> Any:
        return func(drop(rows, names))

    return named_after(plain, func)


def without_columns_of_both(
    func: Callable[..., Any], left: Sequence[str], right: Sequence[str], leading_keys: int = 1
) -> Callable[..., Any]:
    """Return the same for a function of two frames."""
    here, there = list(left), list(right)
    if takes_key(func, 2):

        def with_key(key: tuple[Any, ...], first: Any, second: Any) -> Any:
            return func(key[leading_keys:], drop(first, here), drop(second, there))

        return named_after(with_key, func)

    def plain(first: Any, second: Any) -> Any:
        return func(drop(first, here), drop(second, there))

    return named_after(plain, func)


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
    func: Callable[..., Iterator[Any]], names: list[str], leading_keys: int
) -> Callable[..., Any]:
    # Spark reads the kind of function from these hints, and checks what the function itself gives.
    if takes_key(func):

        def with_key(
            key: tuple[Any, ...], pieces: Iterator[pd.DataFrame]
        ) -> Iterator[pd.DataFrame]:
            return func(key[leading_keys:], (drop(piece, names) for piece in pieces))

        return named_after(with_key, func)

    def plain(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        return func(drop(piece, names) for piece in pieces)

    return named_after(plain, func)


def _arrow_pieces(
    func: Callable[..., Iterator[Any]], names: list[str], leading_keys: int
) -> Callable[..., Any]:
    if takes_key(func):

        def with_key(
            key: tuple[pa.Scalar, ...], pieces: Iterator[pa.RecordBatch]
        ) -> Iterator[pa.RecordBatch]:
            return func(key[leading_keys:], (drop(piece, names) for piece in pieces))

        return named_after(with_key, func)

    def plain(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return func(drop(piece, names) for piece in pieces)

    return named_after(plain, func)
