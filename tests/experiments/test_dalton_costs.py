from __future__ import annotations

import pytest

from tests.experiments.verdicts import check


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["dalton-10", "dalton-11", "dalton-12"])
def test_a_small_run_comes_to_the_verdicts_of_the_ledger(name: str) -> None:
    check(name)
