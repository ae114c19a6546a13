"""`trimtab partitioners`: what there is, and when to use it."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli.output import AsJson, examples, show
from trimtab.planners import PLANNERS, planner_class
from trimtab.report import Table
from trimtab.report.table import Cell, Column
from trimtab.routers import ROUTERS, router_class

NAME = "partitioners"
EXAMPLES = examples("trimtab partitioners", "trimtab partitioners --json")


@dataclass(frozen=True)
class Advice:
    """What the class itself does not say: the state it keeps and when to choose it."""

    state: str
    when: str


ROUTER_ADVICE = {
    "hash": Advice("none", "keys are even, or an operator needs plain hashing"),
    "shuffle": Advice("a counter", "each row stands alone; merging per key costs nothing"),
    "time": Advice("a counter", "to compare with Spark Streaming's blocks"),
    "potc": Advice("load per lane", "as shuffle, on lanes of unequal speed"),
    "pkg": Advice("load per lane", "merging partial results of two lanes per key is cheap"),
    "cm": Advice("keys of the window", "memory per distinct key is what fills a lane"),
    "am": Advice("keys of the window", "whole keys, many of them, none of them hot"),
    "cam": Advice("keys of the window", "whole keys, and no key holds more than a lane"),
    "lm": Advice("keys of the window", "tuples and distinct keys cost alike"),
    "ch": Advice("a ring", "lanes come and go, and keys are even"),
    "bounded-ch": Advice("a ring, load per lane", "lanes come and go, and keys are skewed"),
    "porc": Advice("load per lane", "the balance is to be within a set percentage"),
    "cg": Advice("virtual workers", "lanes differ in speed, or their speed changes"),
    "dagreedy": Advice("keys of the window", "splitting hot keys by a rule, without learning"),
    "dalton": Advice("a table of hot keys", "the hot keys change and windows slide"),
    "trim": Advice("hot keys, host table", "you do not know: level at the least replication"),
}
PLANNER_ADVICE = {
    "hash": Advice("none", "keys are even"),
    "prompt": Advice("none", "a buffered batch whose keys may be split; no state between batches"),
    "kip": Advice("the last plan", "whole keys with state; moves little"),
    "readj": Advice("the last plan", "whole keys with state; a rival of KIP"),
    "redist": Advice("the last plan", "whole keys; a rival of KIP that moves much"),
    "scan": Advice("the last plan", "whole keys; a rival of KIP, the quickest of Gedik's"),
    "mixed": Advice("the last plan", "whole keys and a short routing table"),
    "trim": Advice("the last plan", "you do not know: fewest pieces, fewest moves"),
}

_COLUMNS = (
    Column("name", "name"),
    Column("kind", "kind"),
    Column("paper", "paper"),
    Column("splits_keys", "splits keys?"),
    Column("state", "state"),
    Column("when", "use it when"),
)


def all_partitioners() -> Table:
    """Return the table of all routers and planners, from the registries."""
    rows: list[tuple[Cell, ...]] = []
    for name in ROUTERS:
        router, advice = router_class(name), ROUTER_ADVICE[name]
        rows.append((name, "router", router.paper, router.splits_keys, advice.state, advice.when))
    for name in PLANNERS:
        planner, advice = planner_class(name), PLANNER_ADVICE[name]
        # An instance knows better than the class where a parameter decides.
        splits = planner(lanes=1).splits_keys
        rows.append((name, "planner", planner.paper, splits, advice.state, advice.when))
    return Table("Routers decide tuple by tuple, planners batch by batch", _COLUMNS, rows)


def run(as_json: AsJson = False) -> None:
    """List all partitioners: paper, whether they split keys, their state, when to use them."""
    table = all_partitioners()
    show([table], table.to_dicts(), as_json)
