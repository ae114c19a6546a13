"""The fragments of split keys as flat tables, so that picking one is a few array look-ups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.plan import CUT_SCALE, Plan

_MOST_CELL_BITS = 10


@dataclass(frozen=True)
class FragmentTable:
    """Guide, cuts and lanes of a plan's split keys.

    The fragment of a point is the number of cuts at or below it. A guide cell, the point's upper
    `cell_bits` bits, gives the first cut that can still decide; at most `steps` cuts lie inside a
    cell, so that `steps` comparisons finish the search however many fragments a key has.

    Attributes
    ----------
    guide
        Position of the first undecided cut, by `split key * cells + cell`.
    cuts, lanes
        Cut points and lanes of all split keys, each key padded so that reading on stays harmless.
    """

    cell_bits: int
    steps: int
    guide: NDArray[np.int64]
    cuts: NDArray[np.int64]
    lanes: NDArray[np.int32]

    @classmethod
    def of(cls, plan: Plan) -> FragmentTable:
        """Make the tables for the keys of `plan` that have several fragments, in plan order."""
        split = np.flatnonzero(np.diff(plan.starts) > 1)
        most = int(np.diff(plan.starts)[split].max(initial=1))
        bits = min(_MOST_CELL_BITS, max(2, (4 * most - 1).bit_length()))
        edges = np.arange((1 << bits) + 1, dtype=np.int64) * (CUT_SCALE >> bits)
        guides, steps = [], 0
        for key in split:
            cuts = plan.cuts[plan.starts[key] : plan.starts[key + 1]].astype(np.int64)
            decided = np.searchsorted(cuts[:-1], edges, side="right")
            inside = np.searchsorted(cuts[:-1], edges[1:], side="left") - decided[:-1]
            steps = max(steps, int(inside.max()))
            guides.append(decided[:-1])
        guide, cut_table, lane_table, start = [], [], [], 0
        for key, decided in zip(split, guides, strict=True):
            part = slice(plan.starts[key], plan.starts[key + 1])
            padding = np.full(steps, CUT_SCALE, dtype=np.int64)
            guide.append(decided + start)
            cut_table.append(np.concatenate([plan.cuts[part].astype(np.int64), padding]))
            lane_table.append(np.pad(plan.lane_of[part], (0, steps), mode="edge"))
            start += cut_table[-1].size
        return cls(
            bits,
            steps,
            np.concatenate(guide).astype(np.int64),
            np.concatenate(cut_table),
            np.concatenate(lane_table).astype(np.int32),
        )
