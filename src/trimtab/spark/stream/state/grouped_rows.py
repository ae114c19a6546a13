"""The rows of a lane, sorted by key, cut into groups that are given piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trimtab.journal.keyed.entries import Longs


class SortedRows:
    """A batch of rows in the order of their keys.

    Attributes
    ----------
    rows
        The rows.
    hashes, checks
        The two hashes of each row's key.
    starts
        The row at which each group begins.
    """

    def __init__(self, rows: pa.RecordBatch, hashes: Longs, checks: Longs) -> None:
        self.rows = rows
        self.hashes = hashes
        self.checks = checks
        changed = np.ones(hashes.size, dtype=np.bool_)
        changed[1:] = (hashes[1:] != hashes[:-1]) | (checks[1:] != checks[:-1])
        self.starts: NDArray[np.int64] = np.flatnonzero(changed)

    def __len__(self) -> int:
        return int(self.starts.size)

    @property
    def counts(self) -> Longs:
        """The number of rows of each group."""
        return np.diff(np.append(self.starts, self.rows.num_rows))

    def bounds(self, group: int) -> tuple[int, int]:
        """Return the first row of a group and the one after its last."""
        last = group + 1 == len(self)
        return int(self.starts[group]), self.rows.num_rows if last else int(self.starts[group + 1])

    def key(self, group: int) -> tuple[int, int]:
        """Return the hashes of a group's key."""
        at = self.starts[group]
        return int(self.hashes[at]), int(self.checks[at])


class Prepared(Protocol):
    """A batch of sorted rows with all that its groups need."""

    sorted_rows: SortedRows


P = TypeVar("P", bound=Prepared)
Piece = TypeVar("Piece")


class GroupedRows(Generic[P, Piece]):
    """Gives the groups of sorted rows, one after the other, without holding more than a batch.

    Parameters
    ----------
    prepared
        The batches, in order. A group may go on over several.
    piece
        Makes what is shown of a group from its batch and its number there.
    """

    def __init__(self, prepared: Iterator[P], piece: Callable[[P, int], Piece]) -> None:
        self._batches = prepared
        self._piece = piece
        self._now: P | None = next(prepared, None)
        self._at = 0

    def groups(self) -> Iterator[tuple[P, int, Iterator[Piece]]]:
        """Return each group: the batch it begins in, its number there, and its pieces.

        Pieces that were not asked for are passed over when the next group is.
        """
        while self._now is not None:
            if self._at == len(self._now.sorted_rows):
                self._now, self._at = next(self._batches, None), 0
                continue
            batch, group = self._now, self._at
            pieces = self._pieces(batch, group)
            yield batch, group, (piece() for piece in pieces)
            for _ in pieces:
                pass

    def _pieces(self, batch: P, group: int) -> Iterator[Callable[[], Piece]]:
        key = batch.sorted_rows.key(group)
        yield self._maker(batch, group)
        self._at += 1
        while self._at == len(batch.sorted_rows):
            following = next(self._batches, None)
            self._now, self._at = following, 0
            if following is None or following.sorted_rows.key(0) != key:
                return
            batch = following
            yield self._maker(batch, 0)
            self._at = 1

    def _maker(self, batch: P, group: int) -> Callable[[], Piece]:
        return lambda: self._piece(batch, group)
