from __future__ import annotations

import pytest
from rich.console import Console

from trimtab.errors import InvalidArgument
from trimtab.report.table import Column, Table

LONG = "a reason that takes several words"


def test_a_row_that_does_not_fit_its_table_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="needs 1 cells; got 2"):
        Table("t", (Column("a", "a"),), [(1, 2)])


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    table = Table(
        "t",
        (Column("a", "a"), Column("b", "b"), Column("c", "c"), Column("d", "d", right=True)),
        [("x", 1.5, True, "1.0"), ("y", None, False, "2.0")],
    )
    assert [table.to_the_right(i) for i in range(4)] == [False, True, False, True]
    assert table.texts()[1] == ["y", "-", "no", "2.0"]


def drawn(table: Table, width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(table.to_rich())
    return [line.strip() for line in captured.get().splitlines() if line.strip()]


def test_a_table_for_a_terminal_has_its_title_headings_and_cells() -> None:
    table = Table("What came out", (Column("n", "name"), Column("x", "x", ",d")), [("[b]", 1234)])
    title, head, _, row = drawn(table, 60)
    assert title == "What came out"
    assert head.split() == ["name", "x"]
    assert row.split() == ["[b]", "1,234"]


@pytest.mark.parametrize(
    ("narrow", "lines", "words"),
    [
        pytest.param("break", 3, "words", id="cells break over lines"),
        pytest.param("cut", 1, "…", id="cells are cut short"),
    ],
)
def test_a_narrow_terminal(narrow: str, lines: int, words: str) -> None:
    columns = (
        Column("lanes", "lanes", narrow="keep"),
        Column("why", "why", narrow=narrow),  # type: ignore[arg-type]
    )
    _, _, *rows = drawn(Table("", columns, [("▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█", LONG)]), 34)
    assert rows[0].startswith("▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█ ")
    assert len(rows) == lines
    assert words in " ".join(rows)
