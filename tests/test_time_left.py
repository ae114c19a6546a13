"""Where the time for tests is limited, those that come too late are skipped and say why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("end", "outcome"), [("0", "1 skipped"), ("inf", "1 passed")])
def test_no_test_begins_after_the_end(end: str, outcome: str) -> None:
    known = "tests/test_errors.py::test_an_unknown_name_lists_the_known_ones_in_order"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", known]
    env = {**os.environ, "TRIMTAB_TESTS_END": end}
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    assert outcome in run.stdout
    assert ("the time for tests was over" in run.stdout) == (end == "0")
