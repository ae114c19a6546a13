"""A plan in words: where the heavy keys go and how level the lanes come out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from trimtab.histogram import Histogram

if TYPE_CHECKING:
    from trimtab.plan import Plan


def explain(plan: Plan, histogram: Histogram | None, most: int) -> str:
    """Say in a few lines what `plan` does; with a histogram, its heaviest keys come first."""
    split = int((np.diff(plan.starts) > 1).sum())
    lines = [
        f"plan {plan.maker or 'by hand'}: {plan.lanes} lanes, {len(plan)} keys placed one by "
        f"one ({split} split), {plan.hosts.size} hosts for the rest"
    ]
    order: Iterable[int] = range(len(plan))
    if histogram is not None:
        loads = plan.loads(histogram)
        mean = loads.mean()
        lines.append(f"expected max/mean {loads.max() / mean:.3f}" if mean > 0 else "no weight yet")
        rank = {key: i for i, key in enumerate(histogram.hashes.tolist())}
        order = sorted(order, key=lambda i: rank.get(int(plan.keys[i]), len(rank)))
    for shown, i in enumerate(order):
        if shown == most:
            lines.append(f"  ... and {len(plan) - most} more keys")
            break
        key = int(plan.keys[i])
        name = histogram.label(key) if histogram is not None else f"{key:#018x}"
        parts = ", ".join(f"{lane} ({share:.0%})" for lane, share in plan.fragments(key))
        lines.append(f"  {name} -> lane {parts}")
    return "\n".join(lines)
