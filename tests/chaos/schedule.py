"""Which queries run, and how they are killed: a schedule that follows from a seed alone.

A voyage is one set of queries over one input, from their first batch to their last. Its legs are
the processes that it takes: all but the last die as drivers, the last one is let run to the end
while its Python workers or its executors are killed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from tests.spark.stream.crash.queries import QUERIES, moments_of

MOMENTS, TIME, WORKERS, EXECUTORS = "moments", "time", "workers", "executors"

KINDS = {
    MOMENTS: "driver, at a named moment",
    TIME: "driver, at any time",
    WORKERS: "Python worker",
    EXECUTORS: "executor",
}

FILES = 12
"""Batches of a voyage: after its drivers have died there is work left for the last leg."""

QUERIES_AT_ONCE = 3
"""One kill interrupts so many queries; more of them would only make each kill take longer."""

DRIVER_LEGS = 5

LAST_KILLS = 14
"""Kills that are tried in a voyage's last leg."""


@dataclass(frozen=True)
class Leg:
    """One process of a voyage, and how it is killed.

    Attributes
    ----------
    kind
        One of `KINDS`.
    points
        By query: the moment to die at, and how many more batches to do before.
    seconds
        Seconds from the start to the kill, or between two kills.
    kills
        How many processes are to be killed.
    """

    kind: str
    points: dict[str, tuple[str, int]]
    seconds: float
    kills: int = 1


@dataclass(frozen=True)
class Voyage:
    """Some queries, and the legs in which they come to their end."""

    seed: int
    number: int
    queries: tuple[str, ...]
    legs: tuple[Leg, ...]
    among: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """What to type to see this voyage once more."""
        only = f" ONLY={','.join(self.among)}" if self.among else ""
        return f"make chaos SEED={self.seed} VOYAGE={self.number}{only}"


def voyage(seed: int, number: int, among: tuple[str, ...] = ()) -> Voyage:
    """Return a voyage: the same for the same seed, number and queries to choose among.

    Examples
    --------
    >>> voyage(7, 3) == voyage(7, 3), voyage(7, 3) == voyage(7, 4)
    (True, False)
    """
    rng = np.random.default_rng((seed, number))
    names = sorted(among or QUERIES)
    # Each query comes as often as any other, in ever other company.
    first = number * QUERIES_AT_ONCE
    turn = np.random.default_rng((seed, first // len(names))).permutation(len(names))
    chosen = {names[turn[(first + i) % len(names)]] for i in range(QUERIES_AT_ONCE)}
    queries = tuple(sorted(chosen))
    legs = []
    for _ in range(DRIVER_LEGS):
        if rng.random() < 0.3:
            points = dict.fromkeys(queries, ("", 0))
            legs.append(Leg(TIME, points, round(rng.uniform(0.1, 6.0), 2)))
        else:
            legs.append(Leg(MOMENTS, {name: _point(rng, name) for name in queries}, 0.0))
    last = EXECUTORS if number % 2 else WORKERS
    legs.append(Leg(last, {}, round(rng.uniform(0.3, 1.5), 2), LAST_KILLS))
    return Voyage(seed, number, queries, tuple(legs), among)


def voyages(seed: int, among: tuple[str, ...] = ()) -> Any:
    """Return all voyages of a seed, one after the other, without end."""
    return (voyage(seed, number, among) for number in count())


def _point(rng: np.random.Generator, name: str) -> tuple[str, int]:
    known = moments_of(name)
    return known[rng.integers(len(known))], int(rng.random() < 0.4)
