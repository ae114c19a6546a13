from __future__ import annotations

import pytest

from tests.experiments.verdicts import check


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["cg-4", "cg-table-1", "cg-5", "cg-6", "cg-9", "cg-10"])
def test_a_small_run_comes_to_the_verdicts_of_the_ledger(name: str) -> None:
    check(name)
