"""Sums of doubles that can be taken back: as whole numbers, which add and subtract exactly.

A double is a whole multiple of some power of two. Its bits from 2^-100 up to 2^90 are cut into five
limbs of 38 bits, each a long, so that 2^25 of them add up without overflow. What a double has
outside of these bits, a rest that is nearly always 0, is kept beside them; infinities and NaN are
counted. Taking back a sum then leaves nothing of it behind, however large it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from trimtab.spark.counting.observed import has_arrived
from trimtab.spark.stream.windows.panes import Part

LIMBS = 5
LIMB_BITS = 38
LOWEST_BIT = -100
"""A double of 1e-14 or more, as most that were measured or computed are, has no bit below it."""

_BEYOND = 2.0 ** (LOWEST_BIT + LIMBS * LIMB_BITS)
_LARGEST = float.fromhex("0x1.fffffffffffffp+1023")
_NEGATIVE = 1 << 32
"""Infinities are counted in one long: positive ones below this, negative ones in multiples of it.
NaN counts as one of each, because that is what their sum is."""


def exact_partials(total: Column) -> list[Column]:
    """Return a sum of doubles as limbs, the count of what is not finite, and the rest."""
    size = F.abs(total)
    # Of these comparisons with null or NaN none is true.
    bits = F.when(size < _BEYOND, total).otherwise(0.0)
    limbs = [
        ((bits % 2.0 ** (low + LIMB_BITS)) * 2.0**-low).cast("long")
        for low in _lowest_bits_of_limbs()
    ]
    infinite = (
        F.when(F.isnan(total), _NEGATIVE + 1)
        .when(total > _LARGEST, 1)
        .when(total < -_LARGEST, _NEGATIVE)
        .otherwise(0)
    )
    rest = (
        F.when(size < _BEYOND, total % 2.0**LOWEST_BIT).when(size <= _LARGEST, total).otherwise(0.0)
    )
    return [*limbs, infinite.cast("long"), rest]


def exact_parts(names: Sequence[str]) -> tuple[Part, ...]:
    """Return the parts that `exact_partials` fills, given their names."""
    whole = [Part(name, "sum", has_inverse=True, may_be_null=False) for name in names[:-1]]
    rest = Part(names[-1], "sum", has_inverse=True, may_be_null=False, is_rest=True)
    return (*whole, rest)


PARTS = LIMBS + 2
"""Number of partial results of one sum."""


def exact_total(names: Sequence[str]) -> str:
    """Return the sum as a double, from merged partial results, as SQL text.

    It is wrong by 2^-51 of itself at most, where the rest is 0: limbs are brought below 2^38 first,
    and added from the highest down, so that each step rounds what is already the leading part.
    """
    *limbs, infinite, rest = names
    carried, terms = "", []
    for limb, low in zip(limbs, _lowest_bits_of_limbs(), strict=True):
        carried = f"({limb} + shiftright({carried}, {LIMB_BITS}))" if carried else limb
        below = carried if limb == limbs[-1] else f"({carried} & {(1 << LIMB_BITS) - 1}L)"
        terms.append(f"{below} * {_as_text(2.0**low)}")
    finite = " + ".join([*reversed(terms), rest])
    positive = f"({infinite} & {_NEGATIVE - 1}L) > 0"
    negative = f"{infinite} >= {_NEGATIVE}L"
    return (
        f"CASE WHEN {infinite} = 0 THEN {finite} WHEN {positive} AND {negative} "
        f"THEN double('NaN') WHEN {positive} THEN double('Infinity') "
        "ELSE double('-Infinity') END"
    )


def _lowest_bits_of_limbs() -> list[int]:
    return [LOWEST_BIT + LIMB_BITS * number for number in range(LIMBS)]


def _as_text(value: float) -> str:
    return f"{value!r}D"


class Rests:
    """Whether the sums of one batch can be taken back: an observation of what is left over.

    Parameters
    ----------
    parts
        All partial results.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._names = [part.name for part in parts if part.is_rest]
        self._observation = Observation()

    def on(self, panes: DataFrame) -> DataFrame:
        """Return the panes with the observation in them."""
        if not self._names:
            return panes
        none = " AND ".join(f"{name} = 0" for name in self._names)
        text = f"bool_and(pane IS NULL OR ({none})) AS none"
        return panes.observe(self._observation, F.expr(text))

    def are_none(self) -> bool:
        """Tell whether nothing was left over; the panes must have been written."""
        if not self._names or not has_arrived(self._observation):
            return True
        return self._observation.get["none"] is not False
