"""The reducer of Algorithm 2 with dictionaries; messages are those of `tests.reference.dalton`."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any


class Reducer:
    def __init__(self, lanes: int, heat: float) -> None:
        self.n = lanes
        self.heat = heat
        self.until: dict[int, int] = {}

    def merge(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        turn = messages[0]["round"]
        load = sum(message["records"] for message in messages)
        counts: Counter[int] = Counter()
        for message in messages:
            counts.update(message["top"])
        for key, count in counts.items():
            if count > Fraction(self.heat) * load / self.n:
                self.until[key] = turn + 2
        self.until = {key: until for key, until in self.until.items() if until > turn}
        return {
            "load": load,
            "q": {key: self.mean(key, messages) for key in sorted(self.until)},
            "until": dict(self.until),
            "loads": [sum(column) for column in zip(*(m["loads"] for m in messages), strict=True)],
        }

    def mean(self, key: int, messages: list[dict[str, Any]]) -> list[float]:
        rows = [(m["top"].get(key, 0), m["q"][key]) for m in messages if key in m["q"]]
        if not rows:
            return [-2.0] * self.n
        if sum(weight for weight, _ in rows) == 0:
            rows = [(1, values) for _, values in rows]
        total = sum(weight for weight, _ in rows)
        return [sum(w * values[lane] for w, values in rows) / total for lane in range(self.n)]
