from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trimtab import hash_keys
from trimtab.errors import InvalidArgument
from trimtab.simulate.scenario import EXAMPLE, read_scenario
from trimtab.workloads import zipf_ids

KEYS = hash_keys(zipf_ids(60_000, 5_000, 1.0, seed=1))
SMALL = """\
[data]
path = "clicks.parquet"
key = "user"

[cluster]
lanes = 10
slots = 30

[[cluster.slow]]
lanes = 2
speed = 0.25
since = 10

[[partitioner]]
name = "hash"

[[partitioner]]
name = "cg"
virtual = 20
signals = true
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    return path


def test_the_example_is_a_scenario(tmp_path: Path) -> None:
    found = read_scenario(write(tmp_path, EXAMPLE))
    assert (found.lanes, found.key, found.reducers.count) == (500, ("user",), 8)
    assert found.path == tmp_path / "clicks.parquet"
    assert found.partitioners == (("hash", {}, False), ("cg", {"virtual": 20}, True))
    assert np.flatnonzero(found.speeds(3) == 0.5).tolist() == list(range(50))


def test_a_scenario_runs_every_partitioner(tmp_path: Path) -> None:
    scenario = read_scenario(write(tmp_path, SMALL))
    assert scenario.speeds(9).tolist() == [1.0] * 10
    assert scenario.speeds(10).tolist() == [0.25] * 2 + [1.0] * 8
    found = scenario.run(KEYS)
    assert {name: len(made.slots) for name, made in found.items()} == {"hash": 30, "cg": 30}
    assert found["cg"].slots[-1].queues.max() < found["hash"].slots[-1].queues.max()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("lanes = 10", "lanes = 0", r"line 6: lanes must be a whole number >= 1; got 0"),
        ("slots = 30", "slot = 30", r"line 7: unknown entry 'slot'; known: lanes, utilisation"),
        ('key = "user"', "key = 7", "line 3: key must be a column"),
        ('path = "clicks.parquet"\n', "", "line 1: path must be given"),
        ("speed = 0.25", "speed = 0", "line 11: speed must be"),
        ("lanes = 2", "lanes = 20", "line 6: slow lanes must be at most the 10 lanes"),
        ('name = "hash"', 'name = "hush"', "line 15: unknown"),
        ("virtual = 20", "virtual = 0", "line 19: virtual must be"),
        ('name = "hash"', 'name = "hash"\nsignals = true', "line 16: signals = true is for cg"),
        ("[data]", "[date]", "line 1: unknown entry 'date'"),
        ("lanes = 10", "lanes = ", "line 6"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line_and_the_reason(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    with pytest.raises(InvalidArgument, match=words):
        read_scenario(write(tmp_path, SMALL.replace(old, new, 1)))


def test_tables_that_are_missing_and_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"needs a table \[cluster\]"):
        read_scenario(write(tmp_path, '[data]\npath = "a"\nkey = "b"\n'))
    head = SMALL.split("[[partitioner]]")[0]
    with pytest.raises(InvalidArgument, match=r"at least one \[\[partitioner\]\]"):
        read_scenario(write(tmp_path, head))
    with pytest.raises(InvalidArgument, match="cannot read the scenario"):
        read_scenario(tmp_path / "none.toml")
    with pytest.raises(InvalidArgument, match="has no rows"):
        read_scenario(write(tmp_path, SMALL)).run(KEYS[:0])
