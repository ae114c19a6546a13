from __future__ import annotations

import pytest

from tests.experiments.verdicts import check


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["dalton-7", "dalton-8", "dalton-9"])
def test_a_small_run_comes_to_the_verdicts_of_the_ledger(name: str) -> None:
    check(name)
