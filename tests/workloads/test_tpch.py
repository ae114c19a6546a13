from __future__ import annotations

import numpy as np
import pytest

from trimtab.errors import InvalidArgument
from trimtab.workloads.tpch import LAST_ORDER, SEGMENTS, TpcH

TABLES = TpcH(scale=0.02, seed=1)
ORDERS, ITEMS, CUSTOMERS = TABLES.orders(), TABLES.line_items(), TABLES.customers()


def test_sizes_follow_the_scale_factor() -> None:
    assert (CUSTOMERS["custkey"].size, ORDERS["orderkey"].size) == (3000, 30_000)
    # One to seven lines per order: four on average.
    assert ITEMS["orderkey"].size / 30_000 == pytest.approx(4.0, rel=0.02)


def test_columns_have_the_laws_of_the_specification() -> None:
    # Keys are sparse: the first eight of every 32 numbers.
    assert set(ORDERS["orderkey"] % 32) == set(range(1, 9))
    # Every third customer has no orders.
    assert not (ORDERS["custkey"] % 3 == 0).any()
    assert ORDERS["orderdate"].max() <= LAST_ORDER
    groups = set(zip(ITEMS["returnflag"].tolist(), ITEMS["linestatus"].tolist(), strict=True))
    assert groups == {("A", "F"), ("R", "F"), ("N", "F"), ("N", "O")}
    assert (ITEMS["discount"].min(), ITEMS["discount"].max()) == (0.0, 0.1)
    assert ITEMS["quantity"].mean() == pytest.approx(25.5, rel=0.01)
    shares = np.unique(CUSTOMERS["segment"], return_counts=True)[1] / 3000
    assert shares.tolist() == pytest.approx([0.2] * SEGMENTS.size, abs=0.03)


def test_tables_belong_together() -> None:
    assert set(ITEMS["orderkey"]) == set(ORDERS["orderkey"])
    assert (ITEMS["shipdate"] > np.repeat(ORDERS["orderdate"], _lines())).all()


def _lines() -> np.ndarray:
    return np.unique(ITEMS["orderkey"], return_counts=True)[1]


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidArgument, match="scale"):
        TpcH(scale=0.0)
