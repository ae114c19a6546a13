"""A table as data: the same rows become text, JSON, Markdown or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from trimtab.errors import InvalidArgument

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    key, heading
        What it is called in JSON and for people.
    form
        How numbers are written: a format specification such as `.2f`.
    right
        Set cells to the right although they are text. Numbers always are.
    narrow
        What happens to cells that a narrow terminal has no room for: they "break" over several
        lines, are "cut" short, or "keep" their width at the expense of other columns.
    """

    key: str
    heading: str
    form: str = ""
    right: bool = False
    narrow: Literal["break", "cut", "keep"] = "break"

    def text(self, value: Cell) -> str:
        """Write one cell."""
        if value is None:
            return "-"
        if isinstance(value, bool):
            return "yes" if value else "no"
        return format(value, self.form) if self.form and not isinstance(value, str) else str(value)


@dataclass(frozen=True)
class Table:
    """Columns and rows, with one sentence on top.

    Examples
    --------
    >>> columns = (Column("name", "router"), Column("ratio", "max/mean", ".2f"))
    >>> t = Table("What came out", columns, [("hash", 4.125), ("trim", None)])
    >>> t.texts()
    [['hash', '4.12'], ['trim', '-']]
    >>> t.to_dicts()
    [{'name': 'hash', 'ratio': 4.125}, {'name': 'trim', 'ratio': None}]
    >>> print(t.to_markdown())
    | router | max/mean |
    | --- | ---: |
    | hash | 4.12 |
    | trim | - |
    """

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InvalidArgument(
                    f"a row of {self.title!r} needs {len(self.columns)} cells; got {len(row)}"
                )

    def texts(self) -> list[list[str]]:
        """Return every cell as text."""
        return [
            [column.text(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def to_the_right(self, column: int) -> bool:
        """Return whether a column is set to the right, as numbers are."""
        if self.columns[column].right:
            return True
        cells = [row[column] for row in self.rows if row[column] is not None]
        return bool(cells) and all(
            isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as JSON can hold them."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]

    def to_markdown(self) -> str:
        """Return the table as Markdown, without its title."""
        rules = ["---:" if self.to_the_right(i) else "---" for i in range(len(self.columns))]
        headings = [column.heading for column in self.columns]
        cells = [[cell.replace("|", "\\|") for cell in row] for row in (headings, *self.texts())]
        return "\n".join(f"| {' | '.join(row)} |" for row in (cells[0], rules, *cells[1:]))

    def to_rich(self) -> Any:
        """Return the table for a terminal."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        made = RichTable(
            title=self.title or None, box=SIMPLE_HEAD, title_justify="left", pad_edge=False
        )
        for index, column in enumerate(self.columns):
            justify: Any = "right" if self.to_the_right(index) else "left"
            # A narrow terminal breaks a heading between its words, never inside one.
            longest = max(map(len, column.heading.split()), default=0)
            keep = column.narrow == "keep"
            made.add_column(column.heading, justify=justify, min_width=longest, no_wrap=keep)
        cut = [column.narrow == "cut" or None for column in self.columns]
        for row in self.texts():
            # Text, not markup: a key may be called "[bold]".
            cells = zip(row, cut, strict=True)
            made.add_row(*(Text(cell, no_wrap=one, overflow="ellipsis") for cell, one in cells))
        return made
