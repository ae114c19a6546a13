"""W-Choices: hot keys go to the least loaded lane of all, the others have two candidates."""

from __future__ import annotations

from trimtab.routers._head_and_tail import HeadAndTailRouter


class WChoicesRouter(HeadAndTailRouter):
    """Split hot keys over all lanes, and no other key over more than two.

    A key is hot while it has at least `heat / lanes` of the tuples, so that at most `lanes / heat`
    keys are. Where no other key has more than `1 / (5 lanes)` of the stream, the lanes are level to
    within `O(log log lanes)` tuples.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    heat
        Multiple of a lane's fair share from which on a key is hot, in [0.001, 1000]. Lowering it
        levels better and splits more keys over all lanes.
    seed
        Chooses the hash functions.
    endless
        Whether loads and counts go on, however many batches `advance` ends, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> one_key = np.full(8000, 42, dtype=np.uint64)
    >>> loads = np.bincount(WChoicesRouter(lanes=8, seed=1).route(one_key))
    >>> int(loads.max() - loads.min())
    0

    References
    ----------
    Nasir et al., "When Two Choices Are not Enough: Balancing at Scale in Distributed Stream
    Processing", ICDE 2016.

    Notes
    -----
    The paper counts with Space-Saving, ours exactly, in a table of the batch's keys. A key must
    have been seen ten times before it is hot: the first tuple of a stream has all of it. Ties go to
    the first candidate, and among all lanes to the lowest.
    """

    name = "w-choices"
    paper = "Nasir et al., ICDE 2016"
    cost = "a count per tuple; for a hot key a look at each lane"
    state_in_words = "counts of all keys"
    use_when = "a few keys exceed two lanes, and merging them from all lanes is cheap"
    complexity = 350
