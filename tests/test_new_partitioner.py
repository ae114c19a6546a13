"""One file and one line in a registry: a new partitioner is everywhere, allowed where it may be.

The toys are the strangers; nothing in the library has heard of them.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.toys import ToyPlanner, ToyRouter, ToySplitter, register
from trimtab import Histogram, hash_keys
from trimtab._described import Described
from trimtab.cli.app import app
from trimtab.cli.partitioners import markdown
from trimtab.control import Advisor, Operator
from trimtab.errors import InvalidArgument, SplitKeysRefused
from trimtab.partitioners import known, make, resolve
from trimtab.simulate import run
from trimtab.workloads import zipf_ids

TOYS: list[type[Described]] = [ToyRouter, ToySplitter, ToyPlanner]
STREAM = hash_keys(zipf_ids(20_000, 500, 1.2, seed=4))

each_toy = pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.name)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


@each_toy
def test_it_is_resolved_where_it_may_be_used(toy: type[Described]) -> None:
    assert toy.name in known()
    found = resolve(toy.name, 4, split=True)
    assert isinstance(found.router or found.planner, toy)
    assert found.for_lanes(7).lanes == 7
    if toy is ToySplitter:
        assert found.splits_keys
        with pytest.raises(SplitKeysRefused, match="'toy-splitter' splits keys"):
            resolve(toy.name, 4, split=False)
    else:
        assert not resolve(toy.name, 4, split=False).splits_keys


def test_its_parameters_are_set_and_checked() -> None:
    made = resolve("toy-router", 4, split=False, parameters={"shift": 3}, seed=5).router
    assert made is not None
    assert made.parameters() == {"lanes": 4, "shift": 3, "seed": 5}
    with pytest.raises(InvalidArgument, match=r"shift must be a whole number in 0\.\.1000; got -1"):
        resolve("toy-router", 4, split=False, parameters={"shift": -1})
    with pytest.raises(InvalidArgument, match="'toy-planner' has no parameter 'shift'"):
        resolve("toy-planner", 4, split=False, parameters={"shift": 1})


@pytest.mark.parametrize("split", [True, False], ids=["keys may be split", "keys stay whole"])
def test_the_advisor_predicts_it_and_recommends_it_where_it_is_best(split: bool) -> None:
    histogram = Histogram.from_hashes(STREAM)
    advice = Advisor(Operator(split_keys=split), 8).advise(histogram)
    for toy in TOYS:
        row = advice[toy.name]
        assert row.allowed == (split or toy is not ToySplitter)
        assert row.makespan > 0
    alone = Advisor(Operator(split_keys=split), 8, partitioners=["toy-router", "toy-planner"])
    assert alone.advise(histogram).recommended.startswith("toy-")


def test_of_equals_the_one_that_says_how_simple_it_is_comes_first() -> None:
    one_key = Histogram.from_counts({3: 1e6})
    advice = Advisor(Operator(), 8, partitioners=["toy-planner", "hash", "toy-router", "kip"])
    assert advice.advise(one_key).recommended == "hash"
    strangers = Advisor(Operator(), 8, partitioners=["toy-router", "toy-planner"])
    assert strangers.advise(one_key).recommended == "toy-planner"  # by name


@each_toy
def test_the_command_line_lists_it(toy: type[Described]) -> None:
    assert toy.use_when in CliRunner().invoke(app, ["partitioners"]).stdout
    rows = json.loads(CliRunner().invoke(app, ["partitioners", "--json"]).stdout)
    row = next(row for row in rows if row["name"] == toy.name)
    assert (row["state"], row["cost"]) == (toy.state_in_words, toy.cost)
    assert row["splits_keys_on_spark"] == (toy is ToySplitter)
    shown = CliRunner().invoke(app, ["partitioners", toy.name]).stdout
    assert ("how far from its hash lane" in shown) == (toy is ToyRouter)
    assert f"| {toy.name} |" in markdown()


@each_toy
def test_the_simulator_runs_it(toy: type[Described]) -> None:
    result = run(make(toy.name, 8), STREAM, window=5_000)
    assert result.name == toy.name
    assert np.isfinite(result.makespan)
    assert len(result.windows) == 4
