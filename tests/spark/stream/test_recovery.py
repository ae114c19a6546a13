"""Killed at any moment and started again, a stream gives every result once.

A child process runs nine queries; each stops at a named point of a named batch; when all are there
the process and its Java process get SIGKILL, so that one kill interrupts nine queries. Then it
starts again, to be killed at other points. In the end this process runs the queries to their end.
`make chaos` goes on from here, with points that a seed chooses.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.spark.stream.crash.queries import (
    QUERIES,
    facts,
    merge_early,
    moments_of,
    results,
    started,
)
from tests.spark.stream.inputs import write_files

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROUNDS: list[dict[str, tuple[str, int]]] = [
    {
        "tumbling": ("batch started", 0),
        "sliding": ("plan written", 0),
        "merging": ("panes written", 0),
        "changes": ("results written", 0),
        "apply": ("sink done", 0),
        "function": ("writing epochs", 0),
        "table": ("epoch taken", 0),
        "states": ("panes written", 0),
        "totals": ("in the middle", 0),
    },
    {
        "tumbling": ("results listed", 1),
        "sliding": ("further pieces written", 1),
        "merging": ("further pieces written", 1),
        "changes": ("batch logged", 1),
        "apply": ("in the middle", 1),
        "function": ("routers gathered", 1),
        "table": ("writing state", 1),
        "states": ("state written", 1),
        "totals": ("cleaned up", 1),
    },
    {
        "tumbling": ("in the middle", 2),
        "sliding": ("writing _spark_metadata", 2),
        "merging": ("results listed", 2),
        "changes": ("writing manifests", 2),
        "apply": ("writing events", 2),
        "function": ("in the middle", 2),
        "table": ("results listed", 2),
        "states": ("in the middle", 2),
        "totals": ("panes written", 2),
    },
    {
        "tumbling": ("batch logged", 3),
        "sliding": ("state written", 4),
        "merging": ("routers gathered", 3),
        "changes": ("sink done", 3),
        "apply": ("writing plans", 3),
        "function": ("batch logged", 4),
        "table": ("results written", 4),
        "states": ("cleaned up", 3),
        "totals": ("results written", 3),
    },
]


class Story(NamedTuple):
    """How many batches there are, and where the queries are killed before they may end."""

    files: int
    rounds: list[dict[str, tuple[str, int]]]


STORIES = [
    pytest.param(Story(3, ROUNDS[1:2]), id="killed once"),
    pytest.param(Story(6, ROUNDS), id="killed at every point", marks=pytest.mark.exhaustive),
]


STARTS, TOO_SLOW = 3, "Python worker failed to connect back"
"""Spark gives the Python process of a source ten seconds to start. Where many queries start at once
on a busy machine that may be too few; the query says so, and is started again."""


def run_until_killed(root: Path, points: dict[str, tuple[str, int]]) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.spark.stream.crash.child",
        str(root),
        json.dumps(points),
    ]
    project = Path(__file__).parents[3]
    said = ""
    for number in range(STARTS):
        path = root / f"child-{number}.log"
        with open(path, "a", encoding="utf-8") as log:
            done = subprocess.run(command, cwd=project, stdout=log, stderr=log, timeout=600)
        said = path.read_text()[-3000:]
        if done.returncode == -signal.SIGKILL or TOO_SLOW not in said:
            break
    assert done.returncode == -signal.SIGKILL, said


def run_to_the_end(spark: SparkSession, root: Path) -> None:
    for query in [started(spark, root, name) for name in QUERIES]:
        query.awaitTermination()


@pytest.fixture(scope="module", params=STORIES)
def story(request: pytest.FixtureRequest) -> Story:
    found: Story = request.param
    return found


@pytest.fixture(scope="module", autouse=True)
def early() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        merge_early(patch.setattr)
        yield


@pytest.fixture(scope="module")
def undisturbed(
    spark: SparkSession, story: Story, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    root = tmp_path_factory.mktemp("undisturbed")
    write_files(root / "in", story.files)
    run_to_the_end(spark, root)
    return root


@pytest.fixture(scope="module")
def killed(spark: SparkSession, story: Story, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("killed")
    write_files(root / "in", story.files)
    for points in story.rounds:
        run_until_killed(root, points)
    run_to_the_end(spark, root)
    return root


def test_there_is_a_kill_at_every_point() -> None:
    points = [point for named in ROUNDS for point, _ in named.values()]
    assert len(points) >= 20
    assert set(points) == {moment for name in QUERIES for moment in moments_of(name)}


def test_every_query_was_killed_at_every_point_it_was_meant_to_be(
    killed: Path, story: Story
) -> None:
    lines = (killed / "reached").read_text().splitlines()
    wanted = [[name, *at] for points in story.rounds for name, at in points.items()]
    assert sorted(json.loads(line) for line in lines) == sorted(wanted)


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_after_all_kills_every_result_is_there_once(
    name: str, spark: SparkSession, undisturbed: Path, killed: Path
) -> None:
    expected = results(spark, undisturbed, name)
    assert len(expected) > 50
    assert results(spark, killed, name) == expected


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_a_batch_that_ran_again_routed_as_before(
    name: str, undisturbed: Path, killed: Path
) -> None:
    assert facts(killed, name) == facts(undisturbed, name)


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_nothing_but_what_is_needed_is_left_behind(name: str, killed: Path) -> None:
    place = killed / "ck" / name
    assert len(list((place / "plans").glob("*.json"))) <= 3
    assert len(list((place / "state").glob("*.json"))) <= 3
    assert not list(killed.glob(f"out/{name}/_temporary"))
    state = max((place / "state").glob("*.json"), key=lambda path: int(path.stem))
    if (place / "keyed").exists():
        needed = state.read_text()
        assert all(kept.name in needed for kept in (place / "keyed").iterdir())
    if (place / "panes").exists():
        for kept in (place / "panes").iterdir():
            assert kept.name in state.read_text()
