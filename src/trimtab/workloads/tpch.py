"""Customers, orders and line items with the laws of the TPC-H specification.

It is a generator of our own: the columns that Queries 1, 3 and 6 ask for, drawn by the laws of
Clause 4.2.3. Texts are left out, and so are the random sequences of `dbgen`: sums differ from its.
Dates are days since 1992-01-01.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real, seed_number

Columns = dict[str, NDArray[Any]]

LAST_ORDER = 2405  # 1998-08-02
TODAY = 1263  # 1995-06-17: what was received before it has been returned or accepted
SEGMENTS = np.array(["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"])


@dataclass(frozen=True)
class TpcH:
    """The three tables at a scale factor; 1 has 1,500,000 orders.

    Parameters
    ----------
    scale
        The scale factor, above 0.
    seed
        Seed of every draw.

    Examples
    --------
    >>> tables = TpcH(scale=0.001, seed=1)
    >>> len(tables.customers()["custkey"]), len(tables.orders()["orderkey"])
    (150, 1500)
    """

    scale: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        real("scale", self.scale, 0, low_open=True)
        seed_number(self.seed)

    def _count(self, at_one: int) -> int:
        return max(1, round(at_one * self.scale))

    def customers(self) -> Columns:
        """Return the customers: each belongs to one of five segments of the market."""
        random = np.random.default_rng([self.seed, 1])
        count = self._count(150_000)
        segments = SEGMENTS[random.integers(0, SEGMENTS.size, count)]
        return {"custkey": np.arange(1, count + 1), "segment": segments}

    def orders(self) -> Columns:
        """Return the orders; every third customer has none, and keys are sparse: 8 of every 32."""
        random = np.random.default_rng([self.seed, 2])
        count, customers = self._count(1_500_000), self._count(150_000)
        numbers = np.arange(count)
        customer = random.integers(1, customers + 1, count)
        customer = np.maximum(1, customer - (customer % 3 == 0))
        return {
            "orderkey": (numbers // 8) * 32 + numbers % 8 + 1,
            "custkey": customer,
            "orderdate": random.integers(0, LAST_ORDER + 1, count),
        }

    def line_items(self) -> Columns:
        """Return the line items: one to seven per order, side by side."""
        orders = self.orders()
        random = np.random.default_rng([self.seed, 3])
        parts = self._count(200_000)
        lines = random.integers(1, 8, orders["orderkey"].size)
        count = int(lines.sum())
        ordered = np.repeat(orders["orderdate"], lines).astype(np.int64)
        shipped = ordered + random.integers(1, 122, count)
        received = shipped + random.integers(1, 31, count)
        part = random.integers(1, parts + 1, count)
        quantity = random.integers(1, 51, count)
        price = (90_000 + part // 10 % 20_001 + 100 * (part % 1000)) / 100
        returned = np.where(random.random(count) < 0.5, "R", "A")
        return {
            "orderkey": np.repeat(orders["orderkey"], lines),
            "partkey": part,
            "quantity": quantity.astype(np.float64),
            "extendedprice": quantity * price,
            "discount": random.integers(0, 11, count) / 100,
            "tax": random.integers(0, 9, count) / 100,
            "returnflag": np.where(received <= TODAY, returned, "N"),
            "linestatus": np.where(shipped > TODAY, "O", "F"),
            "shipdate": shipped,
        }
