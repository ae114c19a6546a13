"""Plain-Python counters of distinct keys: a set, and a HyperLogLog of 4,096 registers."""

from __future__ import annotations

import math

from tests.reference.hashing import mix64

REGISTERS = 4096
HIGHEST_RANK = 40


class KeySet:
    """Holistic, Section 3.2.1: remember every key."""

    def __init__(self) -> None:
        self.keys: set[int] = set()

    def update(self, key: int) -> None:
        self.keys.add(key)

    def contains(self, key: int) -> bool:
        return key in self.keys

    def estimate(self) -> float:
        return float(len(self.keys))


class Registers:
    """Holistic, Section 3.2.2: HyperLogLog, and "contains" by a trial update."""

    def __init__(self) -> None:
        self.registers = [0] * REGISTERS
        self.scaled_sum = REGISTERS << HIGHEST_RANK  # of 2^-register, times 2^HIGHEST_RANK

    @staticmethod
    def place(key: int) -> tuple[int, int]:
        word = mix64(key)
        rank = 1
        while rank < HIGHEST_RANK and not word >> (rank - 1) & 1:
            rank += 1
        return word >> 52, rank

    def update(self, key: int) -> None:
        register, rank = self.place(key)
        before = self.registers[register]
        if rank > before:
            self.registers[register] = rank
            self.scaled_sum += (1 << (HIGHEST_RANK - rank)) - (1 << (HIGHEST_RANK - before))

    def contains(self, key: int) -> bool:
        register, rank = self.place(key)
        return rank <= self.registers[register]

    def estimate(self) -> float:
        inverse_sum = self.scaled_sum / (1 << HIGHEST_RANK)
        raw = 0.7213 / (1 + 1.079 / REGISTERS) * REGISTERS * REGISTERS / inverse_sum
        empty = self.registers.count(0)
        if raw <= 2.5 * REGISTERS and empty:
            return REGISTERS * math.log(REGISTERS / empty)
        return raw


COUNTERS: dict[str, type[KeySet] | type[Registers]] = {"exact": KeySet, "hll": Registers}
