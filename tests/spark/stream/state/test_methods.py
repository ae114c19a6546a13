"""What a stream with state cannot be is said at the call, in one sentence."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from tests.spark.stream.state.test_apply_with_state import counted
from trimtab.errors import InvalidArgument, UnsupportedKeyType
from trimtab.journal.store.local import LocalStore
from trimtab.spark import Stream
from trimtab.spark.stream import startable
from trimtab.spark.stream.state import conversions

pytestmark = [pytest.mark.spark]


def test_a_spark_that_is_too_old_is_refused_at_the_call(
    begin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversions, "PandasToArrowConversion", None)
    with pytest.raises(InvalidArgument, match=r"needs Spark 4\.2 or later, and this is"):
        begin().apply_with_state(print, "n long", "n long")


def test_what_a_state_must_be_is_said_at_the_call(begin: Any) -> None:
    origin: Stream = begin()
    with pytest.raises(InvalidArgument, match="needs a watermark"):
        origin.apply_with_state(counted, "n long", "n long", timeout="EventTimeTimeout")
    with pytest.raises(InvalidArgument, match="timeout must be one of"):
        origin.apply_with_state(counted, "n long", "n long", timeout="soon")
    with pytest.raises(InvalidArgument, match="under a name of its own"):
        origin.apply_with_state(counted, "n long", "n long, N long")
    with pytest.raises(InvalidArgument, match="takes a function"):
        origin.apply_with_state(3, "n long", "n long")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="decides row by row"):
        begin(partitioner="ch").apply_with_state(counted, "n long", "n long")
    with pytest.raises(InvalidArgument, match="least_gain must be"):
        begin(least_gain=-1)
    with pytest.raises(UnsupportedKeyType, match="array<double>"):
        begin(key=F.expr("array(weight)")).apply_with_state(counted, "n long", "n long")
    with pytest.raises(InvalidArgument, match="may not be called 'exists'"):
        origin.apply_in_arrow_with_state(counted, "n long", "exists long")


def test_types_that_spark_cannot_give_to_python_are_refused_at_the_call(begin: Any) -> None:
    months = "interval year to month"
    with pytest.raises(InvalidArgument, match="state field 'n' is of type interval year"):
        begin().apply_with_state(counted, "n long", f"n {months}")
    with pytest.raises(InvalidArgument, match="result column 'n' is of type interval year"):
        begin().apply_in_arrow_with_state(counted, f"n {months}", "n long")
    keyed = begin(key=F.expr("make_ym_interval(0, int(price))"))
    with pytest.raises(InvalidArgument, match=r"column .* is of type interval year"):
        keyed.drop_duplicates()
    with pytest.raises(InvalidArgument, match=r"key column .* is of type interval year"):
        keyed.running(n=F.count("*"))


def test_aggregates_that_sessions_do_not_have_are_refused(begin: Any) -> None:
    with pytest.raises(InvalidArgument, match="column with the watermark"):
        begin().sessions(time="ts", gap="1 minute", n=F.count("*"))


def test_a_place_that_only_hadoop_can_open_is_refused(
    begin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = begin().running(n=F.count("*"))
    monkeypatch.setattr(startable, "HadoopStore", LocalStore)
    with pytest.raises(InvalidArgument, match="can only be opened through Hadoop"):
        counts.start(memory="nothing", output_mode="update")
