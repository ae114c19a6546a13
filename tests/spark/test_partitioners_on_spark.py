"""Every way to give a partitioner, on batch and on a stream; strangers' partitioners among them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

from tests.spark.stream.inputs import write_files
from tests.toys import register
from trimtab import Plan, hash_keys, planner, router
from trimtab import state as states
from trimtab.errors import InvalidArgument, SplitKeysRefused
from trimtab.journal.event_log import EventLog
from trimtab.spark import Batch, Stream, group_by, repartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

USERS = [f"user{n % 11}" for n in range(300)]


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Write a first batch, of whose keys nothing is known yet, and one that comes after it."""
    return write_files(tmp_path_factory.mktemp("input") / "in", 2)


@pytest.fixture(scope="module")
def clicks(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(pd.DataFrame({"user": USERS, "n": range(300)})).repartition(3)


def lanes_of(df: DataFrame) -> dict[str, set[int]]:
    rows = df.select("user", F.spark_partition_id().alias("lane")).distinct().collect()
    found: dict[str, set[int]] = {}
    for row in rows:
        found.setdefault(row["user"], set()).add(row["lane"])
    return found


def first(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"user": rows["user"][:1], "rows": [len(rows)]})


LEARNED = router("pkg", lanes=4, seed=3, endless=True)
LEARNED.route(hash_keys([f"other{n % 5}" for n in range(100)]))

WAYS: dict[str, dict[str, Any]] = {
    "a planner's name": {"partitioner": "kip"},
    "a name with parameters": {"partitioner": "pkg", "parameters": {"choices": 3}},
    "a planner": {"partitioner": planner("kip", lanes=4)},
    "a router that has learned something": {"partitioner": LEARNED},
    "a plan": {"partitioner": Plan(4, {int(hash_keys(["user3"])[0]): 2})},
    "a stranger's planner": {"partitioner": "toy-planner"},
    "a stranger's router": {"partitioner": "toy-router", "parameters": {"shift": 2}},
    "a stranger's router that splits": {"partitioner": "toy-splitter"},
}
SPLITTING = ("a name with parameters", "a router that has learned", "that splits")


@pytest.mark.parametrize("way", WAYS)
def test_batch_operators_take_every_way(way: str, clicks: DataFrame, toys: None) -> None:
    placed = repartition(clicks, 4, "user", split=True, **WAYS[way])
    found = lanes_of(placed)
    assert placed.rdd.getNumPartitions() == 4
    assert set(found) == set(USERS)
    counts = group_by(clicks, "user", lanes=4, **WAYS[way]).count().collect()
    assert sorted(map(tuple, counts)) == sorted(
        map(tuple, clicks.groupBy("user").count().collect())
    )
    if any(word in way for word in SPLITTING):
        with pytest.raises(SplitKeysRefused):
            group_by(clicks, "user", lanes=4, **WAYS[way]).applyInPandas(
                first, "user string, n int"
            )
    else:
        assert all(len(lanes) == 1 for lanes in found.values())
    if way == "a plan":
        assert found["user3"] == {2}
    if way == "a stranger's router":
        hashes = hash_keys(list(found))
        expected = (hashes % np.uint64(4) + np.uint64(2)) % np.uint64(4)
        assert [found[user] for user in found] == [{int(lane)} for lane in expected]


@pytest.mark.parametrize("way", WAYS)
def test_streams_take_every_way(
    way: str, begin: Callable[..., Stream], toys: None, tmp_path: Path
) -> None:
    seen: list[int] = []

    def work(rows: DataFrame, batch: Batch) -> None:
        seen.append(rows.count())

    made = begin(lanes=4, **WAYS[way])
    made.for_each_batch(work).start(trigger={"availableNow": True}).awaitTermination()
    events = list(EventLog(tmp_path / "ck").events())
    assert seen == [event["rows"] for event in events]
    assert all(sum(event["loads"]) == event["rows"] for event in events)
    if any(word in way for word in SPLITTING):
        with pytest.raises(SplitKeysRefused):
            begin(lanes=4, **WAYS[way]).apply(first, "user string, rows long")
    else:
        begin(lanes=4, **WAYS[way]).apply(first, "user string, rows long")


def test_what_a_router_has_learned_is_where_a_stream_starts_and_restarts(
    begin: Callable[..., Stream], tmp_path: Path
) -> None:
    def ran(given: Any) -> None:
        work = begin(lanes=4, partitioner=given).for_each_batch(lambda rows, batch: rows.count())
        work.start(trigger={"availableNow": True}).awaitTermination()

    ran(LEARNED)
    events = list(EventLog(tmp_path / "ck").events())
    kept = sorted((tmp_path / "ck" / "routers").glob(f"{events[-1]['batch']}-*/ready/*.json"))
    assert kept
    # Every instance has counted its own rows beside the hundred that it was given.
    loads = [int(states.parse(p.read_bytes())["arrays"]["_loads"].sum()) for p in kept]
    assert sum(loads) == sum(event["rows"] for event in events) + 100 * len(kept)
    ran(LEARNED)
    with pytest.raises(InvalidArgument, match="did not start from the router that was given"):
        ran(router("pkg", lanes=4, seed=3, endless=True))
