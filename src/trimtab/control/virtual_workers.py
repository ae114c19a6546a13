"""How many lanes to make, where an engine gives the next lane to whoever is free.

Consistent Grouping divides the work into equal virtual workers and hands them from busy machines to
idle ones. Where lanes are tasks of a shuffle that is bound to no machine, the engine's scheduler is
that idle queue: all there is to choose is how many virtual workers there are for each slot, and how
large each is.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import whole
from trimtab.control.machines import Machines

MOST_PER_SLOT = 8
"""Virtual workers per slot, at most: what more could level, their start costs."""

TASK_SECONDS = 0.03
"""Seconds that a task takes to start, before anybody has measured it."""

INSURANCE = 0.01
"""Share of the work for which virtual workers are had without any sign that they are needed: a
machine that slows down in mid-batch then costs less."""

LEAST_GAIN = 0.08
"""By which share a batch must be expected to get shorter for the number of lanes to change: two
batches of the same rows differ by as much."""

PRESENT = 2
"""Batches for which a machine that no lane ran on is still counted on."""

ALIKE = 1.15
"""Machines within this factor of each other are alike: lanes of as many rows differ as much."""

NOISE = 0.08
"""Share by which lanes, and machines from batch to batch, differ from what is expected of them. Of
a number of lanes that only fits exact speeds, the last one is left to a slow machine."""

DRAWS = 7
"""Batches with such noise that are played through for every number of lanes."""

MOST_SLOTS, MOST_TRIED = 48, 43
"""Slots that are played through at most, standing for more, and numbers of lanes that are tried:
ten milliseconds for all of them."""

LEAST_SHARE = 0.01
"""Size of a lane over the mean, at least: every lane gets some rows, however slow a machine is."""

BISECTIONS = 40
"""Halvings of the time in which a batch could end: to a millionth of a millionth."""


@dataclass(frozen=True)
class LaneChoice:
    """A number of lanes, why, and the relative size of each; None where all are equal."""

    lanes: int
    reason: str
    shares: tuple[float, ...] | None = None


def choose_lanes(
    slots: int,
    machines: Machines,
    now: int | None = None,
    *,
    least_gain: float = LEAST_GAIN,
    unequal: bool = False,
    shares: Sequence[float] | None = None,
) -> LaneChoice:
    """Choose how many lanes the next batch has.

    Where machines are alike that is one for each slot, and more only where their start is next to
    nothing beside the work. Where they differ, batches are played through for many numbers of
    lanes, from the machines' speeds and from what a task takes to start, and the fewest that come
    close to the best are chosen. What is now stays unless the choice is better by `least_gain`.

    Parameters
    ----------
    slots
        Tasks that run at once, 1 or more.
    machines
        What is known of the machines, and of the work of a batch.
    now
        The number of lanes of the last batch; None before the first.
    least_gain
        By which share the batch must get shorter for the number to change, in (0, 1). Raise it
        where a change costs something, such as moving state.
    unequal
        Whether lanes may be of several sizes: one for each slot to begin with, small enough for the
        slowest machine, and one for what is left of each faster slot. No machine is named by that:
        whoever is slow has its first lane only, and the others come for the rest.
    shares
        Relative sizes of the lanes of the last batch; None if they were equal.

    Examples
    --------
    >>> alike = Machines({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 4, "b": 4, "c": 4}, work=18.0)
    >>> choose_lanes(12, alike).lanes
    12
    >>> uneven = Machines({"a": 1.0, "b": 1.0, "c": 3.3}, {"a": 4, "b": 4, "c": 4}, work=18.0)
    >>> choice = choose_lanes(12, uneven, now=12)
    >>> print(choice.lanes, choice.reason)
    28 machines differ by a factor of 3.3 (slowest c): 2.2 s expected, with 12 lanes 5.4 s

    With starts that take half a second, two lanes for each fast slot are better than three:

    >>> dear = Machines(uneven.slowness, uneven.slots, task_seconds=0.5, work=18.0)
    >>> choice = choose_lanes(12, dear, now=12, unequal=True)
    >>> print(choice.lanes, choice.shares[0], choice.shares[-1])
    20 0.8 1.29

    References
    ----------
    Consistent Grouping, Section 5.2: equal virtual workers, as many for each machine as it can
    carry. Here nobody hands them over: who is free takes the next one.
    """
    slots = whole("slots", slots, 1)
    sizes_now = None if shares is None else tuple(shares)
    if machines.work is None or not machines.slowness:
        lanes = slots if now is None else now
        return LaneChoice(lanes, f"no machine was measured; there are {slots} slots", sizes_now)
    slowness = _slots(machines, slots)
    start = TASK_SECONDS if machines.task_seconds is None else machines.task_seconds
    insured = _insured(machines.work / slots, start) * slots
    alike = max(slowness) < ALIKE * min(slowness)
    facts = "machines are alike" if alike else _difference(machines, slowness)
    tried: list[tuple[int, tuple[float, ...] | None]] = [(insured, None)]
    if not alike:
        step = max(1, (MOST_PER_SLOT - 1) * slots // (MOST_TRIED - 1))
        tried += [(n, None) for n in range(slots, MOST_PER_SLOT * slots + 1, step)]
        if unequal:
            sizes = sizes_by_speed(machines.work, slowness, start)
            relative = np.maximum((sizes / sizes.mean()).round(2), LEAST_SHARE)
            tried.append((len(sizes), tuple(relative.tolist())))

    def expect(lanes: int, sizes: Sequence[float] | None) -> float:
        assert machines.work is not None
        return seconds(machines.work, lanes, slowness, start, sizes)

    expected = {one: expect(*one) for one in tried}
    close = min(expected.values()) * (1 + least_gain / 2)
    # The fewest lanes; of as many, those that end earlier.
    good = [one for one in tried if expected[one] <= close]
    chosen = min(good, key=lambda one: (one[0], expected[one]))
    told = f"{facts}: {expected[chosen]:.1f} s expected"
    if chosen[1] is not None:
        told += ", first lanes small enough for the slowest"
    before = (insured, None) if now is None else (now, sizes_now)
    if before == chosen:
        return LaneChoice(chosen[0], told, chosen[1])
    stays = expect(*before)
    if expected[chosen] < stays * (1 - least_gain):
        return LaneChoice(chosen[0], f"{told}, with {before[0]} lanes {stays:.1f} s", chosen[1])
    other = "other sizes" if chosen[0] == before[0] else f"{chosen[0]} lanes"
    reason = f"{facts}: {stays:.1f} s expected, with {other} no less"
    return LaneChoice(before[0], reason, before[1])


def sizes_by_speed(work: float, slowness: Sequence[float], start: float) -> NDArray[np.float64]:
    """Return the seconds of work of lanes that end together, if who is free takes the next one.

    The first lanes, one for each slot, are what the slowest slot does in the whole time; a slot
    that is done with it earlier finds another, of all that it still can do. Slots come for these in
    the order of their speed.

    Parameters
    ----------
    work, slowness, start
        As for `seconds`.

    Examples
    --------
    >>> sizes_by_speed(9.0, [1.0, 1.0, 4.0], start=0.0).tolist()
    [1.0, 1.0, 1.0, 3.0, 3.0]
    """
    slow = np.sort(np.asarray(slowness, dtype=np.float64))

    def sizes(end: float) -> NDArray[np.float64]:
        first = (end - start) / slow[-1]
        left = end - (start + first * slow) - start
        # Of what is not longer than its own start, nobody has anything.
        return np.concatenate([np.full(slow.size, first), (left / slow)[left > max(start, 1e-9)]])

    least, most = start, start + work * slow[-1]
    for _ in range(BISECTIONS):
        middle = (least + most) / 2
        least, most = (least, middle) if sizes(middle).sum() >= work else (middle, most)
    found = sizes(most)
    return np.asarray(found * work / found.sum())


def seconds(
    work: float,
    lanes: int,
    slowness: Sequence[float],
    start: float,
    shares: Sequence[float] | None = None,
) -> float:
    """Return when the last of the lanes is expected to end, if who is free takes the next one.

    Lanes and machines differ a little from what is known of them; the mean of some such batches is
    returned, always of the same ones.

    Parameters
    ----------
    work
        Seconds that all lanes take together on a slot of slowness 1.
    lanes
        Number of lanes.
    slowness
        Of each slot; slots that are equally slow belong to one machine.
    start
        Seconds that a task takes to start.
    shares
        Relative size of each lane; by default all are equal.

    Examples
    --------
    >>> round(seconds(12.0, 2, [1.0, 1.0], start=0.0), 1)
    6.2
    """
    if len(slowness) > MOST_SLOTS:
        stand_in = np.sort(slowness)[np.linspace(0, len(slowness) - 1, MOST_SLOTS).astype(int)]
        scale = MOST_SLOTS / len(slowness)
        few = max(1, round(lanes * scale))
        if shares is not None:
            shares = np.asarray(shares)[np.linspace(0, lanes - 1, few).astype(int)].tolist()
        return seconds(work * scale, few, stand_in.tolist(), start, shares)
    generator = np.random.default_rng(0)
    machines, machine_of = np.unique(slowness, return_inverse=True)
    sizes = np.ones(lanes) if shares is None else np.asarray(shares)
    sizes = sizes * work / sizes.sum()
    total = 0.0
    for _ in range(DRAWS):
        slow = (machines * generator.uniform(1 - NOISE, 1 + NOISE, machines.size))[machine_of]
        each = sizes * generator.uniform(1 - NOISE, 1 + NOISE, lanes)
        free = [(0.0, one) for one in sorted(slow.tolist())]
        for lane in each.tolist():
            at, factor = free[0]
            heapq.heapreplace(free, (at + lane * factor + start, factor))
        total += max(free)[0]
    return total / DRAWS


def _insured(level: float, start: float) -> int:
    """Return the lanes per slot whose start is next to nothing beside the work of a slot."""
    if start <= 0:
        return MOST_PER_SLOT // 2
    return min(1 + int(INSURANCE * level / start), MOST_PER_SLOT // 2)


def _present(machines: Machines) -> dict[str, float]:
    return {
        name: slow
        for name, slow in machines.slowness.items()
        if machines.unseen.get(name, 0) <= PRESENT
    }


def _slots(machines: Machines, slots: int) -> list[float]:
    """Return the slowness of every slot; slots that nobody has seen count as the middle ones."""
    known = [slow for name, slow in _present(machines).items() for _ in range(machines.slots[name])]
    known = sorted(known, reverse=True)[:slots]
    return known + [1.0] * (slots - len(known))


def _difference(machines: Machines, slowness: Sequence[float]) -> str:
    present = _present(machines)
    slowest = max(present, key=lambda name: present[name])
    apart = max(slowness) / min(slowness)
    return f"machines differ by a factor of {apart:.1f} (slowest {slowest})"
