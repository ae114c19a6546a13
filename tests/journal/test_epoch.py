"""One driver at a time: who comes last takes over, who was there before stops."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from trimtab import state as states
from trimtab.errors import CorruptState, InvalidArgument, TakenOver
from trimtab.journal.epoch import KEPT_EPOCHS, Epoch, take_epoch
from trimtab.journal.store import store


def test_epochs_are_counted_from_one(tmp_path: Path) -> None:
    assert [take_epoch(store(tmp_path), "me") for _ in range(12)] == list(range(1, 13))


def test_the_newest_epoch_goes_on_and_the_one_before_stops(tmp_path: Path) -> None:
    place = store(tmp_path)
    first = Epoch(place, take_epoch(place, "driver 17 on host a"))
    first.check()
    second = Epoch(store(tmp_path), take_epoch(store(tmp_path), "driver 4 on host b"))
    second.check()
    with pytest.raises(TakenOver) as told:
        first.check()
    taken = states.parse(place.read("epochs/2"))["taken"]
    assert str(told.value).startswith(
        f"epoch 1 of file://{tmp_path} is over: 'driver 4 on host b' took epoch 2 at {taken}"
    )
    second.check()


def test_the_error_names_the_newest_of_several(tmp_path: Path) -> None:
    place = store(tmp_path)
    first = Epoch(place, take_epoch(place, "first"))
    for number in range(2, 12):
        take_epoch(place, f"driver {number}")
    with pytest.raises(TakenOver, match="'driver 11' took epoch 11"):
        first.check()


def test_of_two_drivers_that_start_at_once_one_writes_and_the_other_stops(tmp_path: Path) -> None:
    """Each writes what it may until it is told to stop; the newer one writes to the end."""
    for turn in range(20):
        where = tmp_path / str(turn)
        line = threading.Barrier(2)
        ends: dict[int, str] = {}

        def drive(owner: str, where=where, line=line, ends=ends) -> None:
            place = store(where)
            line.wait()
            epoch = Epoch(place, take_epoch(place, owner))
            line.wait()
            try:
                epoch.check()
                place.create(f"written/{epoch.number}", owner.encode())
                ends[epoch.number] = "wrote"
            except TakenOver:
                ends[epoch.number] = "stopped"

        threads = [threading.Thread(target=drive, args=(name,)) for name in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ends == {1: "stopped", 2: "wrote"}
        assert store(where).list("written/") == ["written/2"]


def test_eight_drivers_get_eight_epochs(tmp_path: Path) -> None:
    numbers: list[int] = []
    threads = [
        threading.Thread(target=lambda: numbers.append(take_epoch(store(tmp_path), "me")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 9))


def test_old_epochs_are_removed_and_their_drivers_still_stop(tmp_path: Path) -> None:
    place = store(tmp_path)
    first = Epoch(place, take_epoch(place, "first"))
    for _ in range(3 * KEPT_EPOCHS):
        take_epoch(place, "later")
    assert len(place.list("epochs/")) == KEPT_EPOCHS
    with pytest.raises(TakenOver):
        first.check()


def test_an_epoch_that_is_damaged_or_foreign_is_refused_by_name(tmp_path: Path) -> None:
    place = store(tmp_path)
    first = Epoch(place, take_epoch(place, "first"))
    place.create("epochs/2", b"{")
    with pytest.raises(CorruptState, match="epochs/2 is damaged"):
        first.check()
    place.create("epochs/3", states.dump({"kind": "plan", "number": 3}).encode())
    with pytest.raises(CorruptState, match="epochs/3 holds 'plan' number 3, not epoch 3"):
        first.check()
    place.create("epochs/notes.txt", b"")
    with pytest.raises(CorruptState, match=r"epochs/notes\.txt is not an epoch"):
        take_epoch(place, "second")


@pytest.mark.parametrize("owner", ["", None, 7])
def test_an_owner_has_a_name(tmp_path: Path, owner: Any) -> None:
    with pytest.raises(InvalidArgument, match="the owner of an epoch"):
        take_epoch(store(tmp_path), owner)
