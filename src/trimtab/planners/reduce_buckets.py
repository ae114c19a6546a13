"""Prompt's reduce-bucket allocator: each block sends its keys to reduce buckets on its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hashes, lane_count, whole
from trimtab._kernel import kernel
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.plan import Plan


def allocate_block(
    hashes: ArrayLike, weights: ArrayLike, split: ArrayLike, buckets: int, first: int = 0
) -> NDArray[np.int32]:
    """Return the reduce bucket of each key of one block, from what that block knows.

    A split key goes to `key hash mod buckets`, so that all blocks agree without talking. The others
    go, heaviest first, to the bucket with the most room; a bucket that got one steps aside until
    all others have one. So the numbers of whole keys per bucket differ by at most one.

    Parameters
    ----------
    hashes
        The distinct keys of the block.
    weights
        The weight of each key within this block, >= 0.
    split
        Whether each key is on other blocks too.
    buckets
        Number of reduce tasks, 1 or more.
    first
        The bucket that is first in line where rooms are equal, in 0..buckets-1. Blocks should
        differ in it.

    Examples
    --------
    >>> allocate_block([4, 5, 6, 7], [9, 4, 3, 2], [True, False, False, False], buckets=3).tolist()
    [1, 0, 2, 1]

    References
    ----------
    Abdelhamid et al., "Prompt: Dynamic Data-Partitioning for Distributed Micro-batch Stream
    Processing Systems", SIGMOD 2020, Section 5, Algorithm 3.

    Notes
    -----
    Line 8 of the listing refills the candidates while some are left; the text has it the other way
    round, and so have we. Equal weights are taken by rising hash. Room may become negative, where
    split keys overfill a bucket.

    The paper does not say what happens where rooms are equal, which they are at first in every
    block without split keys. If all blocks began with the same bucket it would get the heaviest key
    of each of them: with 8 blocks and 16 buckets, on Zipf 0.7, it ends up 85 % above the mean.
    Hence `first`.
    """
    keys = key_hashes(hashes)
    sizes = np.asarray(weights, dtype=np.float64)
    apart = np.asarray(split, dtype=bool)
    if sizes.shape != keys.shape or apart.shape != keys.shape:
        raise InvalidArgument(
            f"a block needs one weight and one split mark per key; got {keys.size} keys, "
            f"{sizes.size} weights and {apart.size} marks"
        )
    if not (np.isfinite(sizes) & (sizes >= 0)).all():
        raise InvalidArgument("weights must be finite and >= 0; got one that is not")
    count = lane_count(buckets, "buckets")
    bucket = (keys % np.uint64(count)).astype(np.int32)
    whole("first", first, 0, count - 1)
    rooms = sizes.sum() / count - np.bincount(bucket[apart], sizes[apart], count)
    order = np.lexsort((keys, -sizes))
    _worst_fit(order[~apart[order]], sizes, rooms, first, bucket)
    return bucket


def allocate(plan: Plan, histogram: Histogram, buckets: int) -> NDArray[np.int32]:
    """Return the reduce bucket of each fragment of a plan, in the order of `plan.lane_of`.

    Each lane decides alone, as its map task would; it only knows its own number, from which it
    takes the bucket to begin with. All fragments of one key get one bucket.

    >>> h = Histogram.from_counts({1: 6, 2: 2, 3: 2, 4: 2})
    >>> p = Plan(2, {1: [(0, 0.5), (1, 0.5)], 2: 0, 3: 1, 4: 1})
    >>> allocate(p, h, buckets=2).tolist()
    [1, 1, 0, 0, 1]
    """
    counts = np.diff(plan.starts)
    key_of = np.repeat(np.arange(len(plan)), counts)
    at, is_heavy = plan.find(histogram.hashes)
    weights = np.zeros(len(plan))
    weights[at[is_heavy]] = histogram.weights[is_heavy]
    sizes = weights[key_of] * plan.shares
    bucket = np.empty(key_of.size, dtype=np.int32)
    by_lane = np.argsort(plan.lane_of, kind="stable")
    ends = np.cumsum(np.bincount(plan.lane_of, minlength=plan.lanes))
    for lane, mine in enumerate(np.split(by_lane, ends[:-1])):
        key = key_of[mine]
        first = lane * buckets // plan.lanes
        bucket[mine] = allocate_block(plan.keys[key], sizes[mine], counts[key] > 1, buckets, first)
    return bucket


@kernel
def _worst_fit(
    order: NDArray[np.int64],
    sizes: NDArray[np.float64],
    rooms: NDArray[np.float64],
    first: int,
    bucket: NDArray[np.int32],
) -> None:
    """Place keys in the given order; a round gives every bucket one, the roomiest first.

    A bucket that was chosen is out for the rest of the round, so the order of rooms at the round's
    start is the order of the choices.
    """
    turn = rooms.size
    candidates = np.arange(rooms.size)
    for i in order:
        if turn == rooms.size:
            candidates = np.argsort(-np.roll(rooms, -first), kind="mergesort")
            turn = 0
        chosen = (candidates[turn] + first) % rooms.size
        bucket[i] = chosen
        rooms[chosen] -= sizes[i]
        turn += 1
