"""What profile tells of a run: lanes, executors, stragglers with their causes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import trimtab.spark as tt
from trimtab import hash_keys
from trimtab.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


def each_row_takes_a_millisecond(rows: pd.DataFrame) -> pd.DataFrame:
    time.sleep(0.001 * len(rows))
    return rows


def test_a_run_tells_of_its_hot_key(spark: SparkSession) -> None:
    clicks = spark.sql("select if(id < 300, 'ann', 'user ' || id) as user from range(400)")
    found = tt.group_by(clicks, "user", lanes=4).applyInPandas(
        each_row_takes_a_millisecond, "user string"
    )
    with pytest.raises(InvalidArgument, match="run an action on the frame first"):
        tt.profile(found)
    assert found.count() == 400
    report = tt.profile(found)
    assert report.times.rows.sum() == 400
    assert list(report.slowness.values()) == [1.0]
    first = report.stragglers[0]
    # Plans are made from hashes; a histogram that was given may have names.
    assert (first["cause"], first["key"]) == ("hot key", f"{int(hash_keys(['ann'])[0]):#018x}")
    assert f"hot key ({first['key']})" in str(report)


def test_a_hot_key_has_the_name_that_a_histogram_gives_it(spark: SparkSession) -> None:
    clicks = spark.sql("select if(id < 300, 'ann', 'user ' || id) as user from range(400)")
    known = tt.profile(clicks, "user", lanes=4).histogram
    found = tt.group_by(clicks, "user", lanes=4, histogram=known).applyInPandas(
        each_row_takes_a_millisecond, "user string"
    )
    found.collect()
    assert "hot key (ann)" in str(tt.profile(found))
    assert "ann" not in str(tt.profile(found, names="hash"))


def test_other_frames_need_a_key(spark: SparkSession) -> None:
    with pytest.raises(InvalidArgument, match="give a key to profile a frame"):
        tt.profile(spark.range(3))
