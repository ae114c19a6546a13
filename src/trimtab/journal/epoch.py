"""Epochs: which of several drivers may write to a place. The newest one may.

    epochs/<n>    who took epoch n, and when

A driver that starts creates the next epoch. Before it writes anything it checks that there is none
newer than its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from trimtab import state as states
from trimtab.errors import AlreadyThere, CorruptState, InvalidArgument, TakenOver
from trimtab.journal.store import Store

FOLDER = "epochs/"

KEPT_EPOCHS = 16
"""The newest epochs are kept, so that people can see who was there; older ones are removed."""


@dataclass(frozen=True)
class Epoch:
    """The right of one driver to write to a store, until another takes it.

    Parameters
    ----------
    store
        The place.
    number
        What `take_epoch` returned.

    Notes
    -----
    Between a check and the write that follows it, another driver may come. `Store.create` decides
    then: of two drivers that write one name, one is told `AlreadyThere`; nothing is overwritten.

    Examples
    --------
    >>> import tempfile
    >>> from trimtab.journal.store import store
    >>> place = store(tempfile.mkdtemp())
    >>> first = Epoch(place, take_epoch(place, "driver on host a"))
    >>> first.check()
    >>> second = Epoch(place, take_epoch(place, "driver on host b"))
    >>> second.check()
    >>> first.check()
    Traceback (most recent call last):
        ...
    trimtab.errors.TakenOver: epoch 1 of ... is over: 'driver on host b' took epoch 2 at ...
    """

    store: Store
    number: int

    def check(self) -> None:
        """Go on only if no newer epoch was taken.

        Raises
        ------
        TakenOver
            If there is a newer epoch: it says who took it and when.
        """
        newest = max(_epochs(self.store), default=0)
        if newest <= self.number:
            return
        name = f"{FOLDER}{newest}"
        source = f"{self.store.uri}/{name}"
        record = states.parse(self.store.read(name), source)
        if record.get("kind") != "epoch" or record.get("number") != newest:
            raise CorruptState(
                f"{source} holds {record.get('kind')!r} number {record.get('number')!r}, not epoch "
                f"{newest}: files of this place were mixed up"
            )
        raise TakenOver(
            f"epoch {self.number} of {self.store.uri} is over: {record.get('owner')!r} took epoch "
            f"{newest} at {record.get('taken')}; this driver stops and has lost nothing; stop the "
            "other one before you start this one again"
        )


def take_epoch(store: Store, owner: str) -> int:
    """Create the next epoch of a place and return its number; the first is 1.

    Of two drivers that start at the same moment one gets the number, the other the number after
    it: the second has then taken over from the first.

    Parameters
    ----------
    store
        The place.
    owner
        Who takes it, in words that help to find the driver: host, process, application.
    """
    if not isinstance(owner, str) or not owner:
        raise InvalidArgument(f"the owner of an epoch is a text that names it; got {owner!r}")
    taken = _epochs(store)
    number = max(taken, default=0)
    while True:
        number += 1
        now = datetime.now(UTC).isoformat(timespec="seconds")
        record = {"kind": "epoch", "number": number, "owner": owner, "taken": now}
        try:
            store.create(f"{FOLDER}{number}", states.dump(record).encode())
        except AlreadyThere:
            continue
        break
    for old in taken:
        if old <= number - KEPT_EPOCHS:
            store.remove(f"{FOLDER}{old}")
    return number


def _epochs(store: Store) -> list[int]:
    numbers = []
    for name in store.list(FOLDER):
        number = name.removeprefix(FOLDER)
        if not number.isdecimal():
            raise CorruptState(
                f"{store.uri}/{name} is not an epoch; nothing else belongs into that folder: "
                "move it elsewhere"
            )
        numbers.append(int(number))
    return numbers
