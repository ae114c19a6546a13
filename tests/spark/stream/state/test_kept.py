from __future__ import annotations

import json

import pytest
from pyspark.sql import types as T

from tests.spark.stream.state.lanes import struct
from trimtab.errors import InvalidArgument
from trimtab.journal.keyed.lane_file import LaneFile
from trimtab.journal.keyed.manifest import LaneState, Manifest
from trimtab.spark.stream.state.kept import Cost, KeyedKept, refuse_other_state


def test_it_is_read_back_as_it_was_kept() -> None:
    manifest = Manifest((LaneState((LaneFile("a", 1, 2, 3, 4),), 1),), "p", "k", "s", {1: ("b",)})
    kept = KeyedKept(manifest, 17, Cost(0.001, 2.0))
    assert KeyedKept.restore(json.loads(json.dumps(kept.state()))) == kept


def test_moving_costs_what_was_measured() -> None:
    cost = Cost()
    assert cost.of_all(1000) is None
    cost = cost.measured(moved=0, moving=0.5, working=2.0)
    assert cost.of_all(1000) is None
    cost = cost.measured(moved=100, moving=0.1, working=2.0)
    assert cost.of_all(1000) == pytest.approx(1000 * 0.001 / 2.0)


HELD = struct(n=T.LongType(), text=T.StringType())


def test_fields_that_may_be_null_can_be_added() -> None:
    refuse_other_state("", HELD)
    refuse_other_state(HELD.json(), HELD)
    wider = struct(n=T.LongType(), more=T.DoubleType(), text=T.StringType())
    refuse_other_state(HELD.json(), wider)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (struct(n=T.LongType()), "'text' is gone"),
        (struct(n=T.StringType(), text=T.StringType()), "'n' was bigint and is now string"),
        (T.StructType([*HELD.fields, T.StructField("m", T.LongType(), False)]), "may not be null"),
    ],
)
def test_another_type_of_state_is_refused_with_the_difference(
    now: T.StructType, words: str
) -> None:
    with pytest.raises(InvalidArgument, match=words):
        refuse_other_state(HELD.json(), now)
