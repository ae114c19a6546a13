from __future__ import annotations

from tests.experiments.verdicts import of_the_ledger
from trimtab.experiments import EXPERIMENTS, Finding, Setting
from trimtab.experiments.base import VERDICTS, judged
from trimtab.experiments.ledger import ledger, verdicts


def test_a_ledger_can_be_read_back() -> None:
    claims = (
        judged("Lanes | are level", "1.0", "1.1", holds=False, in_part=True, reason="chance"),
        judged("Queues are short", "0", "0", holds=True),
    )
    page = ledger({"cg-4": Finding([{"x": 1}], (), claims, "a note")}, Setting())
    assert verdicts(page) == {
        ("cg-4", "Lanes / are level"): "holds in part",
        ("cg-4", "Queues are short"): "holds",
    }
    assert "**holds** (1), **holds in part** (1), **does not hold** (0)" in page
    assert "- `cg-4`: a note." in page


def test_the_ledger_of_the_docs_has_every_experiment() -> None:
    found = of_the_ledger()
    assert {name for name, _ in found} == set(EXPERIMENTS)
    assert set(found.values()) <= set(VERDICTS)
    assert len(found) >= 40
