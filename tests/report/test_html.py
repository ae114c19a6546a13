from __future__ import annotations

import base64
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from tests.report.runs import level, skewed
from trimtab.report import Table, pictures
from trimtab.report.html import Section, page, write_page
from trimtab.report.table import Column

VOID = {"meta", "img"}


class Reader(HTMLParser):
    """Checks that tags nest, and gathers attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@cache  # drawing takes a second
def whole_page() -> str:
    hostile = Table(
        "<script>alert(1)</script>",
        (Column("key", "key"), Column("rows", "rows", ",d")),
        [('"><img src=x onerror=alert(1)>', 1234), ("plain & simple", None)],
    )
    runs = [skewed(), level()]
    sections = [
        Section("Numbers", ["a < b"], [hostile]),
        Section("Pictures", pictures=[pictures.lanes(runs), pictures.heat(runs)]),
    ]
    return page("A <title>", "Lead & more", sections, "made by Trimtab")


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_a_page_is_well_formed_and_every_text_is_escaped() -> None:
    reader = read(whole_page())
    text = "".join(reader.text)
    assert '"><img src=x onerror=alert(1)>' in text
    assert "<script>alert(1)</script>" in text
    assert "1,234" in text
    assert "<script" not in whole_page()


def test_a_page_names_no_address_outside_of_itself() -> None:
    text = whole_page()
    sources = [value or "" for name, value in read(text).attributes if name in ("src", "href")]
    assert len(sources) == 2
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    words = re.sub(r"base64,[A-Za-z0-9+/=]+", "", text)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", words)


def test_the_pictures_in_the_page_are_the_pictures_drawn() -> None:
    sources = [value or "" for name, value in read(whole_page()).attributes if name == "src"]
    first = base64.b64decode(sources[0].partition(",")[2])
    assert first == pictures.lanes([skewed(), level()]).png


def test_pictures_have_words_for_those_who_cannot_see_them() -> None:
    alts = [value or "" for name, value in read(whole_page()).attributes if name == "alt"]
    assert len(alts) == 2
    assert all("Trimtab" in alt for alt in alts)


def test_a_page_is_written_where_asked(tmp_path: Path) -> None:
    path = write_page(tmp_path / "new" / "report.html", "T", "L", [])
    assert path.is_absolute()
    assert path.read_text(encoding="utf-8") == page("T", "L", [])
