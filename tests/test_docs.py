"""Every Python block of the README and the docs runs as written, page by page, in order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text())


def needs_spark(page: Path) -> bool:
    return any("spark" in block for block in blocks(page))


def run(page: Path, names: dict[str, Any]) -> None:
    for block in blocks(page):
        # The page and the block's first line stand in the traceback of a block that fails.
        exec(compile(block, f"{page.name}: {block.splitlines()[0]}", "exec"), names)


def ids(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p) and not needs_spark(p)], ids=ids)
def test_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(page, {})


@pytest.mark.spark
@pytest.mark.parametrize("page", [p for p in PAGES if needs_spark(p)], ids=ids)
def test_the_page_runs_on_spark(
    page: Path, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(page, {"spark": spark})


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
