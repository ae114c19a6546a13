"""Executors that are missing: asked for where Spark can add some, told where it cannot."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from trimtab.spark.executors import ask_for_slots


def session(dynamic: str, *, takes: bool = True) -> tuple[Any, list[int]]:
    asked: list[int] = []

    def request(more: int) -> bool:
        asked.append(more)
        return takes

    status = SimpleNamespace(size=lambda: 4)  # three executors and the driver
    scala = SimpleNamespace(getExecutorMemoryStatus=lambda: status, requestExecutors=request)
    conf = SimpleNamespace(get=lambda name, default: dynamic)
    context = SimpleNamespace(
        defaultParallelism=12, _jsc=SimpleNamespace(sc=lambda: scala), getConf=lambda: conf
    )
    return SimpleNamespace(sparkContext=context), asked


def test_nothing_is_asked_where_slots_are_enough() -> None:
    made, asked = session("true")
    assert ask_for_slots(made, 12) == ""
    assert asked == []


def test_with_dynamic_allocation_spark_is_asked() -> None:
    made, asked = session("true")
    assert ask_for_slots(made, 21).endswith("Spark was asked for them")
    assert asked == [3]
    made, _ = session("true", takes=False)
    assert ask_for_slots(made, 21).endswith("Spark took no wish for them")


def test_without_it_the_answer_says_what_is_missing() -> None:
    made, asked = session("false")
    assert ask_for_slots(made, 13) == (
        "13 tasks at once need 1 more executors of 4 slots: add them, or switch "
        "spark.dynamicAllocation.enabled on"
    )
    assert asked == []


@pytest.mark.spark
def test_a_local_session_says_it_too(spark: Any) -> None:
    slots = spark.sparkContext.defaultParallelism
    assert ask_for_slots(spark, slots) == ""
    assert "more executors" in ask_for_slots(spark, 2 * slots)
