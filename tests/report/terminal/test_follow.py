from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from tests.report.checkpoints import checkpoint, event
from tests.report.terminal.drawn import drawn
from trimtab.errors import InvalidArgument
from trimtab.journal.event_log import EventLog
from trimtab.report.terminal import bars, follow
from trimtab.report.terminal.follow import SHOWN, look


def test_the_live_view_shows_batches_lanes_and_keys(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    console = Console(record=True, width=140, force_terminal=True)
    follow(str(tmp_path), console=console, until=lambda: True)
    assert "waiting for the first batch" in console.export_text()
    hottest = [{"key": "ann", "share": 0.25}]
    facts = {"max_over_mean": 1.6, "hottest": hottest, "reason": "why not"}
    log.append(event(41, [10.0, 40.0], rows=1234, **facts))
    follow(str(tmp_path), console=console, until=lambda: True)
    text = console.export_text()
    for words in ("41", "1,234", "1.60", "why not", "25.0%  ann", bars([10.0, 40.0])):
        assert words in text


def test_the_view_goes_on_until_it_is_told_to_end(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    looks = 0

    def over() -> bool:
        nonlocal looks
        log.append(event(looks, [1.0, 1.0]))
        looks += 1
        return looks == 3

    console = Console(record=True, width=140, force_terminal=True)
    follow(tmp_path, console=console, every=0.001, until=over)
    assert looks == 3
    assert "reason 2" in console.export_text()


def test_ctrl_c_ends_the_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    follow(tmp_path, console=Console(record=True))


def test_only_the_newest_batches_are_shown(tmp_path: Path) -> None:
    place = checkpoint(tmp_path, *(event(number, [1.0, 1.0]) for number in range(2 * SHOWN)))
    text = drawn(look(place), width=140)
    assert "reason 12" in text
    assert "reason 11" not in text
    assert f"{place} (trim)" in drawn(look(place), width=200)


def test_the_bound_follows_from_the_operation(tmp_path: Path) -> None:
    loads = [30.0, 10.0, 10.0, 10.0]
    split = checkpoint(tmp_path / "a", event(0, loads), operation="aggregate")
    whole = checkpoint(tmp_path / "b", event(0, loads), operation="apply")
    assert "lower bound 15" in drawn(look(split), width=140)
    assert "lower bound 30" in drawn(look(whole), width=140)


@pytest.mark.parametrize("every", [0, -1.0])
def test_looks_take_time(every: float, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="every must be more than 0 seconds"):
        follow(tmp_path, every=every)


def test_following_loads_neither_spark_nor_matplotlib() -> None:
    code = (
        "import sys, trimtab.report.terminal\n"
        "sys.exit(bool({'pyspark', 'matplotlib', 'pandas'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
