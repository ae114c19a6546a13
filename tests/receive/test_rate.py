from __future__ import annotations

import math

import pytest

from trimtab.receive.rate import Brake, SustainableRate


def test_there_is_no_limit_before_spark_was_late() -> None:
    found = SustainableRate(interval=2.0)
    for rows in (10, 1000, 100_000):
        assert math.isinf(found.update(rows, seconds=1.79, waiting=0))
    assert math.isinf(found.update(0, seconds=5.0, waiting=0))


def test_the_rate_settles_at_what_spark_can_do() -> None:
    """Spark takes 0.2 s and 1 ms per row: 700 rows per second are 0.9 of an interval."""
    found = SustainableRate(interval=1.0)
    offered, rates = 2000.0, []
    for _ in range(40):
        rows = int(min(offered, found.rate))
        rates.append(found.update(rows, seconds=0.2 + rows / 1000, waiting=0))
    assert 650 < min(rates[10:]) <= max(rates[10:]) < 1000
    # When Spark has ten times the cores, the rate follows.
    for _ in range(40):
        rows = int(min(offered, found.rate))
        found.update(rows, seconds=0.2 + rows / 10_000, waiting=0)
    assert found.rate >= offered


def test_what_waits_lowers_the_rate_but_never_to_a_standstill() -> None:
    found = SustainableRate(interval=1.0)
    assert found.update(1000, 2.0, waiting=0) == 500
    assert found.update(500, 0.5, waiting=1000) == 800
    assert found.update(500, 1.0, waiting=100_000) == 1


def test_pauses_keep_the_rate_whatever_the_pieces() -> None:
    brake, now = Brake(now=0.0), 0.0
    for records in (10, 500, 3, 87) * 10:
        now += brake.pause(records, rate=100.0, now=now)
    assert now == pytest.approx(60.0)
