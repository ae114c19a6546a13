"""What the Dalton experiments share: combiners and reducers, and the throughput they sustain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import planner, router
from trimtab.control import QTableReducer
from trimtab.experiments.base import Setting
from trimtab.simulate import Cluster, Reducers, Service, Sources, Timeline, stream
from trimtab.workloads import Law
from trimtab.workloads.laws import election_hashtags, hashtags

Hashes = NDArray[np.uint64]

TUPLE_SECONDS = 1e-5
"""Parsing a tuple, taking its key out and counting it."""
FRAGMENT_SECONDS = 2e-6
"""Merging one partial count."""
WINDOW = 10
"""Slides per window; the paper has 60. Every slide merges the fragments of the whole window."""

RIVALS = ("hash", "cam", "shuffle", "two-choices", "cm", "dagreedy")
WHOLE_KEYS = ("hash", "cam")
FORWARDING = ("dagreedy", "dalton", "trim")
"""Who lets keys that are on one lane pass the reducers by (Section 4.2)."""


PARALLELISM = (8, 16, 32, 64)
SKEWED = Law(100_000, 1.5)


def laws() -> dict[str, Law]:
    """Return the laws of the paper's three streams."""
    return {"T4SA": hashtags(0.3), "Elections": election_hashtags(0.3), "Zipf 1.5": SKEWED}


def slots_of(law: Law, setting: Setting, seed: int, count: int = 24) -> Hashes:
    """Draw the slides of a stream."""
    size = setting.size(10_000, 5_000)
    return law.hashes(count * size, seed).reshape(count, size)


def sources_of(
    name: str, lanes: int, seed: int, partitioners: int = 1, **parameters: Any
) -> Sources:
    """Make the sources of an algorithm by its name in the paper; Daltons of several cooperate."""
    if name == "prompt":
        return Sources(planner("prompt", lanes=lanes), exact=True)
    if name == "dalton" and partitioners > 1:
        interval = parameters.pop("interval", 4_000)
        adapt = parameters.pop("adapt", False)
        together = [
            router(
                "dalton",
                lanes=lanes,
                seed=seed * 100 + i,
                cooperate=True,
                stats_window=interval,
                slides=WINDOW,
                **parameters,
            )
            for i in range(partitioners)
        ]
        shortest = None if adapt else interval
        reducer = QTableReducer(lanes, partitioners, interval, shortest)
        return Sources(together, cooperation=reducer)
    known: dict[str, tuple[str, dict[str, Any]]] = {
        "hash": ("hash", {}),
        "shuffle": ("shuffle", {}),
        "cam": ("cam", {"seed": seed}),
        "cm": ("cm", {"seed": seed}),
        "two-choices": ("pkg", {"seed": seed}),
        "dagreedy": ("dagreedy", {"seed": seed, "slides": WINDOW}),
        "dalton": ("dalton", {"seed": seed, "slides": WINDOW}),
        "trim": ("trim", {"seed": seed}),
    }
    kind, own = known[name]
    return Sources([router(kind, lanes=lanes, **own, **parameters) for _ in range(partitioners)])


def lanes_of(name: str, parallelism: int) -> tuple[int, int]:
    """Return combiners and reducers: an eighth reduces, unless keys are whole."""
    reducers = max(1, parallelism // 8)
    return (parallelism, 1) if name in WHOLE_KEYS else (parallelism - reducers, reducers)


def run(
    name: str,
    slots: Iterable[Hashes],
    parallelism: int,
    seed: int,
    *,
    partitioners: int = 1,
    forwarding: bool | None = None,
    batches: bool = False,
    **parameters: Any,
) -> Timeline:
    """Run a word count; in `batches` a slot is a batch, and all keys go through the reducers."""
    combiners, reducers = lanes_of("" if batches else name, parallelism)
    forward = name in FORWARDING if forwarding is None else forwarding
    merging = Reducers(reducers, FRAGMENT_SECONDS, only_split=forward, always=batches)
    sources = sources_of(name, combiners, seed, partitioners, **parameters)
    if batches and name == "dalton":
        sources = Sources(sources.routers[0], exact=True)
    cluster = Cluster(Service(TUPLE_SECONDS), reducers=merging, window=1 if batches else WINDOW)
    return stream(sources, slots, cluster)


def settled(found: Timeline, part: float = 0.5) -> float:
    """Return the sustainable rate of the last part of a run, once it has warmed up."""
    first = int(len(found.slots) * (1 - part))
    return Timeline(found.name, found.slots[first:]).sustainable_rate


def by_slot(found: Timeline) -> NDArray[np.float64]:
    """Return what could be sustained around each slot: over it and the two before.

    Queues carry lanes over a slide or two, and a bandit that levels a window counts on that.
    """
    ends = range(1, len(found.slots) + 1)
    parts = (found.slots[max(0, end - 3) : end] for end in ends)
    return np.array([Timeline(found.name, part).sustainable_rate for part in parts])
