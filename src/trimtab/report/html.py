"""A page in one file: text, tables and pictures, and no address outside of it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from trimtab.report.owner_files import write_for_owner
from trimtab.report.pictures.canvas import Picture
from trimtab.report.table import Table

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: #222;
       background: #f5f6f7; margin: 0; }
main { max-width: 64rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.8rem; margin: 0 0 .5rem; } h2 { font-size: 1.2rem; margin: 0 0 .5rem; }
p { margin: .4rem 0 .8rem; max-width: 46rem; }
.lead { font-size: 1.1rem; }
section { background: #fff; border: 1px solid #e1e4e8; border-radius: 8px; padding: 1.1rem 1.3rem;
          margin: 1.1rem 0; }
figure { margin: .8rem 0 0; } img { max-width: 100%; height: auto; display: block; }
figcaption, caption { color: #555; font-size: .9rem; text-align: left; margin-top: .4rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
caption { margin: 0 0 .4rem; }
th, td { padding: .3rem .8rem .3rem 0; text-align: left; vertical-align: top;
         border-bottom: 1px solid #e8eaed; }
th { font-weight: 600; border-bottom: 2px solid #999; }
td.n, th.n { text-align: right; padding: .3rem 0 .3rem .8rem; white-space: nowrap; }
footer { color: #666; font-size: .85rem; }
@media print { body { background: #fff; } section { border: none; page-break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Section:
    """A part of the page: a heading, paragraphs, then tables and pictures."""

    heading: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()


def page(title: str, lead: str, sections: Sequence[Section], footer: str = "") -> str:
    """Return the HTML of a page; every text is escaped, every picture is inside."""
    body = "\n".join(_section(section) for section in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(title)}</h1>\n<p class="lead">{escape(lead)}</p>\n{body}\n'
        f"<footer><p>{escape(footer)}</p></footer>\n</main>\n</body>\n</html>\n"
    )


def write_page(
    path: str | Path, title: str, lead: str, sections: Sequence[Section], footer: str = ""
) -> Path:
    """Write the page to a file and return its absolute path.

    A new file is for its owner only: it may name keys, which may be people.
    """
    target = Path(path).absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    write_for_owner(target, page(title, lead, sections, footer).encode())
    return target


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.heading)}</h2>"]
    parts += [f"<p>{escape(text)}</p>" for text in section.paragraphs]
    parts += [_table(table) for table in section.tables]
    parts += [_figure(picture) for picture in section.pictures]
    return "<section>\n" + "\n".join(parts) + "\n</section>"


def _table(table: Table) -> str:
    kinds = [' class="n"' if table.to_the_right(i) else "" for i in range(len(table.columns))]
    head = "".join(
        f'<th scope="col"{kind}>{escape(column.heading)}</th>'
        for column, kind in zip(table.columns, kinds, strict=True)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(f"<td{kind}>{escape(c)}</td>" for c, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for row in table.texts()
    )
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return (
        f'<div class="wide"><table>{caption}\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _figure(picture: Picture) -> str:
    data = base64.b64encode(picture.png).decode("ascii")
    return (
        f'<figure><img alt="{escape(picture.words)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )
