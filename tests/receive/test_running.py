from __future__ import annotations

import errno
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.receive.logs import eventually, lines, log, numbers
from trimtab.errors import InvalidArgument, StoreFailed, TakenOver
from trimtab.receive import Log, Receiver, Running, receiver
from trimtab.receive import arrivals as arrivals_module


def test_batches_come_by_the_interval_and_empty_ones_do_not(tmp_path: Path) -> None:
    place = log(tmp_path, interval=0.1)
    with Receiver(place) as made:
        clock = Running(made)
        clock.start()
        for batch in range(3):
            clock.take([lines([1, 2], 2 * batch)])
            eventually(lambda batch=batch: place.newest() == batch)
        time.sleep(0.25)
        clock.take([lines([1], 6)])
        clock.stop()
    assert [place.manifest(batch).rows for batch in place.released()] == [2, 2, 2, 1]
    assert numbers(place) == list(range(7))


def test_clocks_that_jump_neither_lose_nor_double(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = log(tmp_path, interval=0.05)
    jumps = iter([5e9, -1e6, 0.0, 1e12] * 1000)
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    with Receiver(place) as made:
        clock = Running(made)
        clock.start()
        for batch in range(4):
            clock.take([lines([1, 2, 3], 3 * batch)])
            eventually(lambda batch=batch: place.newest() == batch)
        clock.stop()
    assert numbers(place) == list(range(12))


def test_records_that_come_while_a_batch_is_written_belong_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = log(tmp_path, interval=60.0)
    with Receiver(place) as made:
        clock = Running(made)
        write = Log.write_blocks

        def slowly(*given: Any) -> Any:
            monkeypatch.setattr(Log, "write_blocks", write)
            clock.take([lines([7], 3)])
            return write(*given)

        monkeypatch.setattr(Log, "write_blocks", slowly)
        clock.take([lines([1, 2, 3])])
        clock.beat()
        clock.beat()
    assert [place.manifest(batch).rows for batch in (0, 1)] == [3, 1]


def test_a_full_batch_does_not_wait_for_its_time(tmp_path: Path) -> None:
    place = log(tmp_path, interval=60.0)
    with Receiver(place) as made:
        clock = Running(made, batch_bytes=100)
        clock.start()
        clock.take([lines(range(20))])
        eventually(lambda: place.newest() == 0)
        clock.stop()


def test_nothing_is_read_while_too_many_batches_wait(tmp_path: Path) -> None:
    place, said = log(tmp_path), []
    with Receiver(place) as made:
        # Spark is done with a batch when it begins the next: with one alone both would wait.
        with pytest.raises(InvalidArgument, match="waiting must be a whole number >= 2"):
            Running(made, waiting=1)
        clock = Running(made, waiting=2, tell=said.append)
        for batch in range(3):
            clock.take([lines([1], batch)])
            clock.beat()
        assert clock.held == said[0] == "2 batches wait for Spark: nothing is read until it is on"
        assert place.newest() == 1
        place.commit(0, seconds=0.1, rows=1)
        clock.beat()
        assert (clock.held, said[1:], place.newest()) == ("", ["reading again"], 2)
        assert place.released() == [1, 2]
    assert numbers(place) == [1, 2]


def test_the_rate_follows_what_spark_says_and_is_exported(tmp_path: Path) -> None:
    place = log(tmp_path)
    with Receiver(place) as made:
        clock = Running(made)
        assert clock.take([lines(range(100))]) == 0.0
        clock.beat()
        # One batch in work, and one that waits.
        for first in (100, 150):
            clock.take([lines(range(50), first)])
            clock.beat()
        place.commit(0, seconds=2.0)
        clock.beat()
        told = json.loads((place.path / "rate.json").read_text())
        known = {"batch": 0, "rows": 100, "seconds": 2.0}
        assert told == {"rate": 40.0, "waiting": 50, **known}
        assert 0.9 < clock.take([lines(range(40))]) <= 1.0
        # A marker without seconds changes nothing.
        place.commit(1)
        clock.beat()
        assert clock.rate.rate == 40.0


@pytest.mark.parametrize("where", ["arrivals", "blocks"])
def test_a_full_disk_stops_reading_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    place, said = log(tmp_path), []

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Receiver(place) as made:
        clock = Running(made, tell=said.append)
        clock.take([lines([1, 2])])
        with monkeypatch.context() as broken:
            if where == "arrivals":
                broken.setattr(arrivals_module, "_write_all", full)
                with pytest.raises(StoreFailed, match="No space left"):
                    clock.take([lines([1], 2)])
            else:
                broken.setattr(Log, "write_blocks", full)
            clock.beat()
            assert "No space left on device" in clock.held
        clock.beat()
        assert not clock.held
        clock.take([lines([1], 2)])
        clock.beat()
    assert numbers(place) == [0, 1, 2]
    assert said[-1] == "reading again"


def test_a_receiver_that_was_taken_over_ends_and_says_so(tmp_path: Path) -> None:
    place, said = log(tmp_path, interval=0.05), []
    with Receiver(place) as old:
        clock = Running(old, tell=said.append)
        clock.take([lines([1])])
        with Receiver(place) as new:
            clock.start()
            eventually(lambda: clock.failure is not None)
            with pytest.raises(TakenOver):
                clock.take([lines([2])])
            clock.stop()
            new.flush()
    assert said[0].startswith("the receiver has stopped: epoch 1")
    assert numbers(place) == [0]


def offered(place: Path, records: list[dict[str, int]], end: Any = lambda made: None) -> None:
    """Run a receiver in this process, offer it records, and do something at the end."""
    with receiver(place, schema="k long, x long", key="k", interval=0.05) as made:
        made.offer(records)
        end(made)


def test_a_receiver_inside_this_process(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        offered(tmp_path, [{"k": x % 3, "x": x} for x in range(10)], lambda made: 1 / 0)
    place = Log.open(tmp_path)
    assert numbers(place) == list(range(10))

    def taken_over(made: Receiver) -> None:
        eventually(lambda: place.newest() == 1)
        Receiver(made.log).close()
        made.arrivals.append([lines([1])])
        made._buffer.add(11, 1, made._parsed(lines([1])).table, [])
        time.sleep(0.1)

    with pytest.raises(TakenOver):
        offered(tmp_path, [{"k": 0, "x": 10}], taken_over)
    assert numbers(place) == list(range(11))
    for wrong in ({"slack": 0.6}, {"waiting": 0}, {"batch_bytes": 0}):
        with (
            pytest.raises(InvalidArgument, match=next(iter(wrong))),
            receiver(tmp_path, schema="k long, x long", key="k", **wrong),  # type: ignore[arg-type]
        ):
            pass
