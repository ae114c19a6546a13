from __future__ import annotations

import pytest

from trimtab.journal import moments


def test_a_moment_does_nothing_until_a_test_takes_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments.at("plan written", 3)
    reached: list[tuple[str, int]] = []
    monkeypatch.setattr(moments, "at", lambda moment, batch: reached.append((moment, batch)))
    moments.at("plan written", 3)
    assert reached == [("plan written", 3)]
