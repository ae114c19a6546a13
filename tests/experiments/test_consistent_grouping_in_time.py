from __future__ import annotations

import pytest

from tests.experiments.verdicts import check


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["cg-7", "cg-8", "cg-11", "cg-12", "cg-13", "cg-14"])
def test_a_small_run_comes_to_the_verdicts_of_the_ledger(name: str) -> None:
    check(name)
