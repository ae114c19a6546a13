from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calls import trimtab
from tests.report.checkpoints import checkpoint, event
from trimtab import hash_keys


def test_report_writes_a_page_and_says_where(place: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    result = trimtab("report", place, "--output", page)
    assert f"page written to {page}" in result.stderr
    assert "reason 1" in result.stdout
    text = page.read_text(encoding="utf-8")
    assert "Trimtab: ck (trim)" in text
    assert text.count("<img ") == 4


def test_report_as_json_writes_nothing_else(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = json.loads(trimtab("report", place, "--json").stdout)
    assert found["max_over_mean"] == pytest.approx((2 * 60 + 1 * 80) / 140)
    assert [row["reason"] for row in found["new_plans"]] == ["reason 0", "reason 1"]
    assert found["batches"][0]["moved_bytes"] == 4096
    assert not (tmp_path / "report.html").exists()


def test_report_without_names_has_none(tmp_path: Path) -> None:
    page, name = tmp_path / "r.html", "ann@example.org"
    hottest = [{"key": name, "share": 0.5}]
    place = checkpoint(tmp_path / "ck", event(0, [30, 10], hottest=hottest))
    hashed = f"{int(hash_keys([name])[0]):#018x}"
    batches = json.loads(trimtab("report", place, "--names", "hash", "--json").stdout)["batches"]
    assert hashed in batches[0]["hottest"]
    assert name not in json.dumps(batches)
    trimtab("report", place, "--names", "hash", "-o", page)
    assert name not in page.read_text(encoding="utf-8")
    refused = trimtab("report", place, "--names", "none", code=2)
    assert "--names must be" in refused.stderr


def test_report_can_be_a_check(place: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    trimtab("report", place, "-o", page, "--check", 2)
    failed = trimtab("report", place, "-o", page, "--check", 1.1, code=1)
    assert "check failed" in failed.stderr


def test_a_function_of_a_key_cannot_be_leveller_than_its_heaviest_key(tmp_path: Path) -> None:
    ratios = {
        operation: json.loads(
            trimtab(
                "report",
                checkpoint(tmp_path / operation, event(0, [30, 10, 10, 10]), operation=operation),
                "--json",
            ).stdout
        )["over_bound"]
        for operation in ("aggregate", "apply")
    }
    assert ratios == {"aggregate": 2.0, "apply": 1.0}


def test_a_checkpoint_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    result = trimtab("report", tmp_path / "nix", code=2)
    assert "no such checkpoint directory" in result.stderr
