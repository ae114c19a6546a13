"""The log of a directory of results, as Spark's own file sink keeps it and Spark's readers read it.

    _spark_metadata/<batch>            the files of a batch
    _spark_metadata/<batch>.compact    the files of all batches up to this one

Spark's readers take the distance between the two newest compact entries for the interval at which
there is one, and read the newest of them and all entries after it. If there is only one, its number
and one more is the interval. So two of them are always kept, and the interval can be doubled by
removing the one in the middle of three: every step on the way can be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.errors import AlreadyThere, CorruptState, NotThere, TakenOver
from trimtab.journal.store import Store

FOLDER = "_spark_metadata"
"""Where Spark's readers look for it."""

FIRST_INTERVAL = 2
"""The first compact entry is that of batch 1: readers whose own setting is other than ours, too,
take it for one of an interval of two."""

INTERVALS_BEFORE_DOUBLE = 16
"""The interval is doubled when the log is so many times as long as the doubled interval.

An entry is therefore written again at most 32 times per interval's share of the log: n batches make
at most 33 n entries of a batch be written, and a reader opens at most n / 16 + 2 files.
"""

_VERSION = "v1"
_COMPACT = ".compact"


class FileLog:
    """The entries of the batches whose results are to be seen.

    Parameters
    ----------
    store
        The directory of the results.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def uri(self) -> str:
        """Where the log is, for messages."""
        return f"{self._store.uri}/{FOLDER}"

    def last(self) -> int:
        """Return the newest batch in the log, -1 if there is none."""
        single, compact = self._found()
        return max([*single, *compact], default=-1)

    def append(self, batch: int, entries: Sequence[str]) -> None:
        """Log a batch, which must be the one after the last; from here on readers see it."""
        _, compact = self._found()
        newest = compact[0] if compact else -1
        if batch != newest + _interval(compact):
            self._write(str(batch), entries)
            return
        self._write(f"{batch}{_COMPACT}", [*self._entries(newest, batch), *entries])
        self._forget(batch)

    def _entries(self, newest: int, before: int) -> list[str]:
        """Return the entries of all batches before one, of which `newest` is the last compact."""
        names = [f"{newest}{_COMPACT}"] if newest >= 0 else []
        names += [str(batch) for batch in range(newest + 1, before)]
        found: list[str] = []
        for name in names:
            source = f"{self.uri}/{name}"
            try:
                version, *lines = self._store.read_file(f"{FOLDER}/{name}").decode().split("\n")
            except (NotThere, ValueError) as error:
                raise CorruptState(f"{source} is missing or cannot be read: {error}") from error
            if version != _VERSION:
                raise CorruptState(f"{source} is damaged: it does not start with {_VERSION}")
            found += lines
        return found

    def _write(self, name: str, entries: Sequence[str]) -> None:
        try:
            self._store.write_file(f"{FOLDER}/{name}", "\n".join([_VERSION, *entries]).encode())
        except AlreadyThere as error:
            raise TakenOver(
                f"{self.uri}/{name} was written by another driver; this one stops and has lost "
                "nothing"
            ) from error

    def _forget(self, batch: int) -> None:
        """Remove what no reader needs once a batch has a compact entry, and widen the interval."""
        single, compact = self._found()
        interval = _interval(compact)
        kept = {batch, batch - interval}
        doubled = 2 * interval
        may_double = batch - doubled in compact and (batch + 1) % doubled == 0
        if may_double and batch + 1 >= INTERVALS_BEFORE_DOUBLE * doubled:
            kept = {batch, batch - doubled}
        for old in compact:
            if old not in kept:
                self._store.remove_file(f"{FOLDER}/{old}{_COMPACT}")
        # Readers that have begun may still want those after the compact entry before this one.
        for old in single:
            if old <= min(kept):
                self._store.remove_file(f"{FOLDER}/{old}")

    def _found(self) -> tuple[list[int], list[int]]:
        """Return the batches with an entry of their own, and those with a compact one.

        The newest comes first.
        """
        names = [name.removeprefix(f"{FOLDER}/") for name in self._store.sizes(FOLDER)]
        single = [int(name) for name in names if name.isdigit()]
        stems = [name.removesuffix(_COMPACT) for name in names if name.endswith(_COMPACT)]
        compact = [int(stem) for stem in stems if stem.isdigit()]
        return sorted(single, reverse=True), sorted(compact, reverse=True)


def _interval(compact: Sequence[int]) -> int:
    """Return the interval that readers infer from the compact entries, the newest first."""
    if len(compact) >= 2:
        return compact[0] - compact[1]
    return compact[0] + 1 if compact else FIRST_INTERVAL
