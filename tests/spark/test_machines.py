"""A real cluster of machines that differ, die and come: lanes follow, results stay right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.spark.cluster import HOSTS
from tests.spark.machines_job import ADDED, CORES, ROWS, SLOTS
from trimtab.spark.shipping import MISSING

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.exhaustive]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Any:
    scratch = tmp_path_factory.mktemp("machines")
    command = [sys.executable, "-m", "tests.spark.machines_job", str(scratch)]
    with (scratch / "driver.log").open("wb") as log:
        ran = subprocess.run(command, stdout=log, stderr=log, timeout=500, check=False)
    assert ran.returncode == 0, Path(scratch / "driver.log").read_text()[-4000:]
    return json.loads((scratch / "results.json").read_text())


def test_a_slow_machine_is_named_and_lanes_become_more(results: Any) -> None:
    found = results["slow"]
    assert set(found["rows"]) == {ROWS}
    named = {name.split("/")[0] for names in found["slow"] for name in names}
    assert HOSTS[2] in named
    assert found["lanes"][0] == SLOTS
    assert found["lanes"][-1] > SLOTS


def test_a_machine_that_dies_and_one_that_comes_change_no_result(results: Any) -> None:
    found = results["killed"]
    assert set(found["rows"]) == {ROWS}
    addresses = [{name.split("/")[0] for name in names} for names in found["executors"]]
    assert HOSTS[1] not in addresses[-1]
    assert ADDED in addresses[-1]


def test_a_stream_that_falls_behind_is_given_the_executors_that_it_asks_for(results: Any) -> None:
    found = results["growing"]
    assert set(found["rows"]) == {ROWS}
    assert any(said.endswith("Spark was asked for them") for said in found["scaling"])
    assert found["lanes"][0] == CORES
    assert len(found["executors"][0]) == 1
    assert max(found["lanes"]) > CORES
    assert len(found["executors"][-1]) > 1


def test_a_worker_without_trimtab_says_so_and_can_be_sent_it(results: Any) -> None:
    shipping = results["shipping"]
    assert MISSING in shipping["said"]
    assert [key for key, _ in shipping["sent"]] == list(range(5))
    assert sum(rows for _, rows in shipping["sent"]) == 60
