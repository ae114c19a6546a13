from __future__ import annotations

from pathlib import Path

from rich.console import Console

from trimtab.journal.event_log import EventLog
from trimtab.report.follow import bars, follow


def test_the_live_view_shows_batches_lanes_and_keys(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    console = Console(record=True, width=140, force_terminal=True)
    follow(str(tmp_path), console=console, until=lambda: True)
    assert "waiting for the first batch" in console.export_text()
    hottest = [{"key": "ann", "share": 0.25}]
    facts = {"loads": [10.0, 40.0], "max_over_mean": 1.6, "hottest": hottest, "reason": "why not"}
    log.append({"batch": 41, "rows": 1234, "seconds": {"total": 0.5}, **facts})
    follow(str(tmp_path), console=console, until=lambda: True)
    text = console.export_text()
    for words in ("41", "1,234", "1.60", "why not", "ann 25.0%", bars([10.0, 40.0])):
        assert words in text


def test_many_lanes_are_shown_by_the_fullest_of_each_group() -> None:
    assert len(bars([1.0] * 1000)) <= 32
    assert bars([0.0] * 63 + [5.0])[-1] == "█"
    assert bars([]) == ""
