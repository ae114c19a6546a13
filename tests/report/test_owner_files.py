"""What may name people is written for its owner only."""

from __future__ import annotations

from pathlib import Path

from tests.report.runs import skewed
from trimtab.report import pictures
from trimtab.report.html import write_page
from trimtab.report.owner_files import write_for_owner


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    write_for_owner(tmp_path / "new", b"ann")
    assert (tmp_path / "new").read_bytes() == b"ann"
    page = write_page(tmp_path / "page.html", "title", "lead", [])
    picture = pictures.lanes([skewed()]).save(tmp_path / "picture.png")
    for path in (tmp_path / "new", page, picture):
        assert path.stat().st_mode & 0o777 == 0o600


def test_an_older_file_keeps_its_rights_and_nothing_of_its_content(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    path.write_text("a long text that was here")
    path.chmod(0o644)
    write_for_owner(path, b"ann")
    assert path.read_bytes() == b"ann"
    assert path.stat().st_mode & 0o777 == 0o644
