"""HyperLogLog as the paper tells it, on words that are read bit by bit."""

from __future__ import annotations

import math

from tests.reference.hashing import mix64

ALPHA = {16: 0.673, 32: 0.697, 64: 0.709}


class HyperLogLog:
    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.registers = [0] * 2**bits

    def place(self, key: int) -> tuple[int, int]:
        """Return the register (upper bits) and the rank (first one from below, capped)."""
        word = f"{mix64(key):064b}"
        rank = 1
        for bit in reversed(word[self.bits :]):
            if bit == "1" or rank == 52 - self.bits:
                break
            rank += 1
        return int(word[: self.bits], 2), rank

    def add(self, key: int) -> None:
        register, rank = self.place(key)
        self.registers[register] = max(self.registers[register], rank)

    def contains(self, key: int) -> bool:
        """Make a trial update and see whether it changed any register."""
        trial = HyperLogLog(self.bits)
        trial.registers = list(self.registers)
        trial.add(key)
        return trial.registers == self.registers

    def estimate(self) -> float:
        m = len(self.registers)
        alpha = ALPHA.get(m, 0.7213 / (1 + 1.079 / m))
        raw = alpha * m * m / sum(2.0**-register for register in self.registers)
        empty = self.registers.count(0)
        if raw <= 2.5 * m and empty > 0:
            return m * math.log(m / empty)
        return raw
