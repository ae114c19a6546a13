from __future__ import annotations

import pytest

from tests.experiments.verdicts import check


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["prompt-10", "prompt-11", "prompt-12", "prompt-13", "prompt-14"])
def test_a_small_run_comes_to_the_verdicts_of_the_ledger(name: str) -> None:
    check(name)
