"""What the event log says of the lanes of a batch: how long each took, where, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from trimtab.control.machines import HOT, LaneTimes, Machines, stragglers
from trimtab.histogram import Histogram
from trimtab.plan import Plan

NAMED = 64
"""Heaviest keys among which the one that makes a lane hot is looked for."""


def lane_report(
    times: LaneTimes | None,
    machines: Machines,
    plan: Plan | None,
    keys: Histogram | None,
    shares: Sequence[float] = (),
) -> dict[str, Any]:
    """Return what is known of a batch's lanes and executors; nothing if nobody has measured it.

    Parameters
    ----------
    times
        When the lanes were worked on and where.
    machines
        What is known of the executors after the batch.
    plan
        The plan that its rows went by; None if routers decided.
    keys
        The keys of the batch, named as the user wants them named.
    shares
        Relative size that each lane was meant to have; none if all were to be equal.
    """
    if times is None:
        return {}
    measured = times.measured
    names = sorted({name for name, known in zip(times.executors, measured, strict=True) if known})
    places = {name: place for place, name in enumerate(names)}
    found = [asdict(one) for one in stragglers(times, shares)]
    for one in found:
        one["seconds"], one["over"] = round(one["seconds"], 4), round(one["over"], 2)
        if one["cause"] == HOT:
            one["key"] = _heaviest_on(one["lane"], plan, keys)
    seconds, used = times.seconds, times.slots()
    return {
        "lane_seconds": [
            round(float(took), 4) if known else None
            for took, known in zip(seconds, measured, strict=True)
        ],
        "lane_executors": [
            places[name] if known else None
            for name, known in zip(times.executors, measured, strict=True)
        ],
        "executors": [
            {
                "executor": name,
                "lanes": int(np.sum(measured & (np.array(times.executors) == name))),
                "slots": used[name],
                "slowness": round(machines.slowness.get(name, 1.0), 3),
            }
            for name in names
        ],
        "stragglers": found,
    }


def _heaviest_on(lane: int, plan: Plan | None, keys: Histogram | None) -> str | None:
    """Return the name of the key that has most rows on a lane; None if no key stands out."""
    if keys is None or not len(keys):
        return None
    heaviest = keys.top(NAMED)
    weights = heaviest.weights.astype(np.float64)
    if plan is not None:
        share = [dict(plan.fragments(int(key))).get(lane, 0.0) for key in heaviest.hashes]
        weights = weights * np.array(share)
    if weights.max() <= 0:
        return None
    return heaviest.label(int(heaviest.hashes[int(np.argmax(weights))]))
