"""`trimtab partitioners`: what there is, what each takes, and when to use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from trimtab._parameters import LANES, REQUIRED, SEED
from trimtab.cli.output import AsJson, examples, show
from trimtab.errors import InvalidArgument, UnknownName
from trimtab.partitioners import known
from trimtab.planners import PLANNERS, Planner, planner_class
from trimtab.report import Table
from trimtab.report.table import Cell, Column
from trimtab.routers import ROUTERS, Router, router_class

NAME = "partitioners"
EXAMPLES = examples(
    "trimtab partitioners",
    "trimtab partitioners trim dalton   # all about these, with their parameters",
    "trimtab partitioners --json",
    "trimtab partitioners --markdown > docs/partitioners.md",
)

FACTS = (
    Column("name", "name"),
    Column("kind", "kind"),
    Column("paper", "paper"),
    Column("splits_keys", "splits keys?"),
    Column("splits_keys_on_spark", "on Spark?"),
    Column("state", "state"),
    Column("when", "use it when"),
    Column("cost", "deciding takes"),
)
TITLE = "Routers decide tuple by tuple, planners batch by batch"
PARAMETERS = (
    Column("partitioner", "partitioner"),
    Column("kind", "kind"),
    Column("name", "parameter"),
    Column("default", "default"),
    Column("allowed", "allowed"),
    Column("effect", "effect"),
)

MARKDOWN = """\
# All partitioners

Written by `trimtab partitioners --markdown > docs/partitioners.md` from what the classes say of
themselves. [Which partitioner when](which-partitioner.md) helps to choose.

Routers decide tuple by tuple, planners batch by batch. Keys may be split on Spark that stay whole
elsewhere: there every task has a router of its own, and each may send a key to another lane.

{facts}

## Their parameters

All take `lanes` ({lanes}); routers also take `seed` ({seed}), which {seed_effect}.

{parameters}
"""


def classes(names: Sequence[str] | None = None) -> list[type[Router] | type[Planner]]:
    """Return the routers, then the planners, that have one of these names, or all of them."""
    found: list[type[Router] | type[Planner]] = [
        *map(router_class, ROUTERS),
        *map(planner_class, PLANNERS),
    ]
    return [cls for cls in found if names is None or cls.name in names]


def facts(names: Sequence[str] | None = None) -> Table:
    """Return the table of what these partitioners, or all, say of themselves."""
    rows: list[tuple[Cell, ...]] = []
    for cls in classes(names):
        # An instance knows better than the class where a parameter decides.
        made = cls(lanes=1)
        on_spark = made.splits_keys
        if isinstance(made, Router):
            on_spark = made.splits_keys_in_tasks and not made.decides_once
        words = (cls.state_in_words, cls.use_when, cls.cost)
        rows.append((cls.name, _kind(cls), cls.paper, made.splits_keys, on_spark, *words))
    return Table(TITLE, FACTS, rows)


def parameters(names: Sequence[str] | None = None) -> Table:
    """Return the table of what these partitioners, or all, take beside lanes and seed."""
    rows: list[tuple[Cell, ...]] = [
        (
            cls.name,
            _kind(cls),
            parameter.name,
            None if parameter.default is REQUIRED else repr(parameter.default),
            str(parameter.allowed),
            parameter.effect,
        )
        for cls in classes(names)
        for parameter in cls.takes
        if parameter not in (LANES, SEED)
    ]
    return Table("What they take beside lanes and seed", PARAMETERS, rows)


def markdown() -> str:
    """Return the page of the documentation that holds both tables."""
    return MARKDOWN.format(
        facts=facts().to_markdown(),
        parameters=parameters().to_markdown(),
        lanes=LANES.allowed,
        seed=SEED.allowed,
        seed_effect=SEED.effect,
    )


def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Show all about these, with their parameters."),
    ] = None,
    markdown_page: Annotated[
        bool, typer.Option("--markdown", help="Print the page of the documentation.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List all partitioners: paper, whether they split keys, their state, when to use them."""
    for name in names or ():
        if name not in known():
            raise UnknownName("partitioner", name, known())
    if markdown_page:
        if names or as_json:
            raise InvalidArgument("--markdown prints the whole page; give it alone")
        typer.echo(markdown(), nl=False)
        return
    told = facts(names or None)
    if names:
        tables = [told, parameters(names)]
    else:
        # What deciding takes is left out of the long list, so that lines need not be broken.
        tables = [Table(TITLE, FACTS[:-1], [row[:-1] for row in told.rows])]
    show(tables, _as_dicts(names or None), as_json)


def _as_dicts(names: Sequence[str] | None) -> list[dict[str, Any]]:
    taken = parameters(names).to_dicts()
    return [
        {
            **row,
            "parameters": [
                {key: one[key] for key in ("name", "default", "allowed", "effect")}
                for one in taken
                if (one["partitioner"], one["kind"]) == (row["name"], row["kind"])
            ],
        }
        for row in facts(names).to_dicts()
    ]


def _kind(cls: type[Router] | type[Planner]) -> str:
    return "router" if issubclass(cls, Router) else "planner"
