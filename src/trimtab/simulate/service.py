"""How long tuples take on a lane of speed one: constant, drawn for each tuple, or by key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import one_of, real, seed_number
from trimtab._kernel import inline, kernel, salts, word_at
from trimtab.errors import InvalidArgument

LAWS = ("constant", "exponential", "pareto")
_CONSTANT, _EXPONENTIAL, _PARETO = range(3)


@dataclass(frozen=True)
class Service:
    """A law of service times with mean `seconds`.

    Parameters
    ----------
    seconds
        Mean time of a tuple on a lane of speed one, above 0.
    law
        "constant", "exponential", or "pareto" for a heavy tail.
    by_key
        Whether all tuples of a key take the same time, which follows from the key; otherwise each
        tuple's time is drawn by itself.
    tail
        Exponent of the Pareto law, above 1. The lower, the heavier the tail.
    seed
        Seed of the draws.

    Examples
    --------
    >>> Service(0.5).times(np.arange(3, dtype=np.uint64)).tolist()
    [0.5, 0.5, 0.5]
    >>> costly = Service(1.0, "pareto", by_key=True, seed=1)
    >>> first, second = costly.times(np.array([7, 7], dtype=np.uint64))
    >>> bool(first == second)
    True
    """

    seconds: float = 1e-6
    law: str = "constant"
    by_key: bool = False
    tail: float = 1.5
    seed: int = 0

    def __post_init__(self) -> None:
        real("seconds", self.seconds, 0, low_open=True)
        one_of("law", self.law, LAWS)
        real("tail", self.tail, 1, low_open=True)
        seed_number(self.seed)
        if not isinstance(self.by_key, bool):
            raise InvalidArgument(f"by_key must be True or False; got {self.by_key!r}")

    def times(self, hashes: NDArray[np.uint64], first: int = 0) -> NDArray[np.float64]:
        """Return the seconds of each tuple; `first` is the number of tuples before these."""
        made = np.full(hashes.size, self.seconds)
        if self.law != "constant":
            start = salts(self.seed, 1)[0]
            law = LAWS.index(self.law)
            _draw(hashes, np.uint64(first), start, law, self.by_key, self.tail, made)
        return made


@inline
def _unit(word: np.uint64) -> float:
    """Return a number in (0, 1], from the word's upper 53 bits."""
    return (np.float64(word >> np.uint64(11)) + 1.0) * (1.0 / 9007199254740992.0)


@kernel
def _draw(
    hashes: NDArray[np.uint64],
    first: np.uint64,
    start: np.uint64,
    law: int,
    by_key: bool,
    tail: float,
    seconds: NDArray[np.float64],
) -> None:
    for i in range(hashes.size):
        number = hashes[i] if by_key else first + np.uint64(i)
        unit = _unit(word_at(start, number))
        if law == _EXPONENTIAL:
            seconds[i] *= -np.log(unit)
        else:
            # The least value of a Pareto law of mean one is 1 - 1 / tail.
            seconds[i] *= (1.0 - 1.0 / tail) * unit ** (-1.0 / tail)
