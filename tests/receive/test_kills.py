"""Receivers that die at every moment: in this process at each of them, by SIGKILL at ten."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.receive.crash.child import MOMENTS
from tests.receive.crash.voyage import sail
from tests.receive.logs import lines, log, numbers
from trimtab.journal import moments
from trimtab.receive import Receiver

TOLD_BY_RECEIVER = (
    *("epoch taken", "arrivals written", "frozen", "planned", "blocks written"),
    *("manifest written", "arrivals removed"),
)


class Died(BaseException):
    """Stands for a process that is no more: nothing catches it."""


@pytest.mark.parametrize("moment", TOLD_BY_RECEIVER)
def test_whatever_the_moment_every_acknowledged_record_is_in_one_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    place, acknowledged = log(tmp_path), 0
    for attempt in range(6):
        reached = []

        def at(now: str, batch: int, attempt: int = attempt, reached: list[str] = reached) -> None:
            reached.append(now)
            if now == moment and reached.count(now) > attempt % 3:
                raise Died

        monkeypatch.setattr(moments, "at", at)
        try:
            with Receiver(place) as receiver:
                for _ in range(3):
                    # A client goes on with the first record that is not on disk.
                    start = receiver.durable("client")
                    assert start >= acknowledged
                    receiver.take([lines(range(4), start, client="client")])
                    acknowledged = start + 4
                    receiver.flush()
        except Died:
            assert moment in reached
    monkeypatch.undo()
    with Receiver(place) as receiver:
        receiver.flush()
        total = receiver.durable("client")
    assert total >= acknowledged > 0 or moment == "epoch taken"
    assert numbers(place) == list(range(total))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_ten_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    assert sum(sail(tmp_path, kills=10, seed=1).values()) == 10
    assert len(MOMENTS) == 10
