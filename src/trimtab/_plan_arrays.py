"""The arrays that make up a plan: checked, sorted by key, and never written to again."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hash, key_hashes, lane_count
from trimtab.errors import InvalidArgument

CUT_SCALE = 1 << 32
"""Shares become whole cut points on this scale, so that the JVM and numpy cut alike."""

ROUNDING = 1e-6
"""The shares of a key may miss one by this much: they come from divisions and from JSON."""

Fragments = Sequence[tuple[int, float]]
"""Where one key goes: (lane, share) pairs whose shares add up to one."""


class PlanArrays(NamedTuple):
    """Everything that decides where a row goes.

    Attributes
    ----------
    lanes
        Number of destinations.
    keys
        Heavy keys, rising.
    starts
        The fragments of key i stand at `starts[i]:starts[i + 1]`.
    lane_of, shares, cuts
        Of each fragment: its lane, its share, and the point of the scale at which it ends.
    hosts
        Lane of each host.
    """

    lanes: int
    keys: NDArray[np.uint64]
    starts: NDArray[np.int32]
    lane_of: NDArray[np.int32]
    shares: NDArray[np.float64]
    cuts: NDArray[np.uint64]
    hosts: NDArray[np.int32]


class Flat(NamedTuple):
    """Keys and their fragments one after the other, as a caller gives them."""

    keys: NDArray[np.uint64]
    starts: NDArray[np.int32]
    lane_of: NDArray[Any]
    shares: NDArray[np.float64]


def flattened(targets: Mapping[int, int | Fragments]) -> Flat:
    """Write a mapping from keys to lanes or fragments as flat arrays."""
    keys = np.array([key_hash(key) for key in targets], dtype=np.uint64)
    fragments = [_fragments(target) for target in targets.values()]
    starts = np.zeros(keys.size + 1, dtype=np.int32)
    np.cumsum([len(each) for each in fragments], out=starts[1:])
    flat = [pair for each in fragments for pair in each]
    return Flat(
        keys,
        starts,
        np.array([lane for lane, _ in flat], dtype=np.int64),
        np.array([share for _, share in flat], dtype=np.float64),
    )


def _fragments(target: int | Fragments) -> list[tuple[int, float]]:
    if isinstance(target, (int, np.integer)):
        return [(int(target), 1.0)]
    try:
        return [(operator.index(lane), float(share)) for lane, share in target]
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"a key of a plan goes to a lane, or to a list of (lane, share); got {target!r}"
        ) from None


def plan_arrays(lanes: int, given: Flat, hosts: ArrayLike | None) -> PlanArrays:
    """Check the arrays of a plan and put them in order; `hosts` of None is plain hashing."""
    lanes = lane_count(lanes)
    host_lanes = np.arange(lanes) if hosts is None else np.asarray(hosts)
    keys, lane_of = key_hashes(given.keys, "keys"), np.asarray(given.lane_of)
    starts, counts, shares = given.starts, np.diff(given.starts), given.shares
    _check_lanes(lanes, lane_of, host_lanes)
    _check_fragments(Flat(keys, starts, lane_of, shares), counts)
    order = np.argsort(keys)
    keys = keys[order]
    if (keys[1:] == keys[:-1]).any():
        raise InvalidArgument("a key is twice in the plan; give its fragments together")
    if shares.size == keys.size:
        # Every key is whole: planners make such plans many times a second.
        new_starts, flat = np.arange(keys.size + 1), order
    else:
        new_starts = np.zeros(keys.size + 1, dtype=np.int64)
        np.cumsum(counts[order], out=new_starts[1:])
        flat = gather_ranges(starts[:-1][order], counts[order])
    sorted_shares = np.asarray(shares, dtype=np.float64)[flat]
    return PlanArrays(
        lanes,
        _frozen(keys, np.uint64),
        _frozen(new_starts, np.int32),
        _frozen(lane_of[flat], np.int32),
        _frozen(sorted_shares, np.float64),
        _frozen(_cut_points(new_starts, sorted_shares), np.uint64),
        _frozen(host_lanes, np.int32),
    )


def _check_lanes(lanes: int, lane_of: NDArray[Any], hosts: NDArray[Any]) -> None:
    if hosts.ndim != 1 or hosts.size == 0 or hosts.dtype.kind not in "iu":
        raise InvalidArgument("hosts must be a non-empty list of lanes")
    for what, values in (("a host", hosts), ("a key", lane_of)):
        if values.size and (values.min() < 0 or values.max() >= lanes):
            raise InvalidArgument(
                f"{what} is sent to a lane outside 0..{lanes - 1}: {values.min()}..{values.max()}"
            )


def _check_fragments(given: Flat, counts: NDArray[np.int32]) -> None:
    keys, starts, lane_of, shares = given
    if counts.shape != keys.shape or lane_of.shape != shares.shape or shares.ndim != 1:
        raise InvalidArgument(
            f"a plan needs one start per key and one share per lane; got {counts.size} starts "
            f"for {keys.size} keys, {shares.size} shares for {lane_of.size} lanes"
        )
    if keys.size == 0:
        if shares.size:
            raise InvalidArgument(f"{shares.size} fragments belong to no key of the plan")
        return
    if counts.min() < 1 or starts[0] != 0 or starts[-1] != shares.size:
        raise InvalidArgument("every key of a plan needs at least one fragment")
    # Written so that a share that is not a number fails the test as well.
    if not (shares.min() > 0 and shares.max() <= 1):
        raise InvalidArgument("shares must lie in (0, 1]; got one that does not")
    running = np.concatenate(([0.0], np.cumsum(shares)))
    off = np.abs(np.diff(running[starts]) - 1.0)
    if off.max() > ROUNDING:
        at = int(np.argmax(off))
        total = shares[starts[at] : starts[at + 1]].sum()
        raise InvalidArgument(f"the shares of a key must add up to 1; got {total:.6g}")


def gather_ranges(starts: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the indices of all ranges, one after the other.

    >>> gather_ranges(np.array([10, 3]), np.array([2, 3])).tolist()
    [10, 11, 3, 4, 5]
    """
    total = int(counts.sum())
    offsets = np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(starts.astype(np.int64), counts) + np.arange(total) - offsets)


def _cut_points(starts: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return the running sum of each key's shares as whole numbers; the last is the scale's end."""
    if shares.size == starts.size - 1:
        return np.full(shares.size, CUT_SCALE, dtype=np.uint64)
    running = np.cumsum(shares)
    before = np.repeat(running[starts[:-1]] - shares[starts[:-1]], np.diff(starts))
    cuts = np.rint((running - before) * CUT_SCALE).astype(np.uint64)
    cuts[starts[1:] - 1] = CUT_SCALE
    return cuts


def _frozen(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array
