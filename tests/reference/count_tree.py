"""Prompt's Algorithm 1, line by line, with a sort where the paper has a balanced tree."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class Entry:
    current: int
    updated: int
    last_update: int
    f_step: int
    t_step: int
    budget: int
    filed_as: int  # when it was filed last, in filings


class CountTree:
    def __init__(self, tuples: float, keys: float, budget: int, interval: int | None) -> None:
        self.n_est = tuples
        self.budget = budget
        self.f = max(1, math.ceil(tuples / (keys * budget)))
        self.t_end = math.ceil(tuples) if interval is None else interval
        self.n_c = 0
        self.filings = 0
        self.table: dict[int, Entry] = {}

    def add(self, key: int, time: int | None = None) -> None:
        now = self.n_c if time is None else time
        self.n_c += 1
        if key not in self.table:
            t_step = max(1, math.ceil((self.t_end - now) / self.budget))
            self.table[key] = Entry(1, 1, now, self.f, t_step, self.budget, self.filings)
            self.filings += 1
            return
        k = self.table[key]
        k.current += 1
        if k.budget == 0:
            return
        if k.current - k.updated >= k.f_step:
            self.update(k, now)
            k.f_step = max(1, math.ceil(self.n_est / self.budget * k.current / self.n_c))
        elif now - k.last_update >= k.t_step:
            self.update(k, now)
            if k.budget:
                k.t_step = max(1, math.ceil((self.t_end - now) / k.budget))

    def update(self, k: Entry, now: int) -> None:
        k.updated, k.last_update = k.current, now
        k.budget -= 1
        k.filed_as = self.filings
        self.filings += 1

    def quasi_sorted(self) -> list[tuple[int, int]]:
        """Keys by falling filed count, the last filed first among equals; with exact counts."""
        items = sorted(self.table.items(), key=lambda item: (-item[1].updated, -item[1].filed_as))
        return [(key, entry.current) for key, entry in items]
