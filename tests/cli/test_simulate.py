from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.cli.calls import trimtab
from tests.simulate.test_scenario import SMALL
from trimtab.simulate.scenario import EXAMPLE
from trimtab.workloads import zipf_ids


def test_the_example_is_printed_as_it_is() -> None:
    assert trimtab("simulate", "--example").stdout == EXAMPLE


def test_a_scenario_says_what_the_data_would_do(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": zipf_ids(30_000, 2_000, 1.2, 1)}), tmp_path / "clicks.parquet")
    (tmp_path / "scenario.toml").write_text(SMALL)
    out = tmp_path / "out"
    result = trimtab("simulate", tmp_path / "scenario.toml", "--out", out, "--json")
    hashed, grouped = json.loads(result.stdout)
    assert (hashed["partitioner"], hashed["keeps_up"]) == ("hash", False)
    assert grouped["latency_p99"] < hashed["latency_p99"]
    assert (out / "slots.csv").read_text().count("\n") == 61
    assert (out / "slots.png").stat().st_size > 1000


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    assert "--example" in trimtab("simulate", code=2).stderr
    (tmp_path / "scenario.toml").write_text(SMALL.replace("lanes = 10", "lanes = -1"))
    assert "line 6: lanes" in trimtab("simulate", tmp_path / "scenario.toml", code=2).stderr
