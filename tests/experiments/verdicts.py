"""An experiment at a small scale must come to the verdicts of the ledger."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from trimtab.experiments import Setting, experiment
from trimtab.experiments.ledger import verdicts

LEDGER = Path(__file__).parents[2] / "docs" / "claims.md"
SMALL = Setting(scale=0.3, seeds=2)


@lru_cache(maxsize=1)
def of_the_ledger() -> dict[tuple[str, str], str]:
    return verdicts(LEDGER.read_text(encoding="utf-8"))


def check(name: str) -> None:
    """Run an experiment and compare its verdicts with those of the ledger."""
    finding = experiment(name)(SMALL)
    found = {(name, claim.says): claim.verdict for claim in finding.claims}
    expected = {key: words for key, words in of_the_ledger().items() if key[0] == name}
    figures = [claim.ours for claim in finding.claims]
    assert found == expected, f"at a small scale: {figures}"
    assert finding.rows
    assert all(claim.reason for claim in finding.claims if claim.verdict != "holds")
