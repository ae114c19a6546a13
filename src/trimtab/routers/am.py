"""Group affinity with cardinality balance (AM): new keys go to the candidate with fewest keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.histogram import Histogram
from trimtab.routers._affinity import AffinityRouter


class AmRouter(AffinityRouter):
    """Keep each key on one lane for a window; place new keys by the number of distinct keys.

    With exact cardinality a key is on exactly one lane inside a window, so aggregation costs no
    more than plain hashing: `sum of distinct keys per lane = distinct keys`. No lane is spared a
    hot key: `max/mean >= lanes x top share`.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    choices
        Candidates per key, 1..31. More candidates level the distinct keys better, at no cost in
        replication; 1 is plain hashing.
    cardinality
        "exact" remembers the keys of the window; "hll" keeps 4,096 bytes per lane whatever the
        number of keys, and may take a new key for a known one.
    seed
        Chooses the hash functions.

    Examples
    --------
    >>> import numpy as np
    >>> r = AmRouter(lanes=4, seed=1)
    >>> lanes = r.route(np.arange(1000, dtype=np.uint64))
    >>> bool((r.route(np.arange(1000, dtype=np.uint64)) == lanes).all())
    True
    >>> r.distinct().tolist()
    [251.0, 250.0, 249.0, 250.0]

    References
    ----------
    Holistic, Section 4.2, Algorithm 3 (AM-2, AM-5); "hll" is AM-2-H, Section 3.2.2.

    Notes
    -----
    `advance` ends the window. A key may be on another lane in the next one, so `splits_keys` is
    about a window: it is False for "exact". With "hll" it is True: a lane that never had the key
    may come to look as if it had, and if it is an earlier candidate the key moves there.

    Whichever candidate took a key keeps it, also with more than two. A tie goes to the first
    candidate.
    """

    name = "am"
    paper = "Holistic, Algorithm 3"
    use_when = "whole keys, many of them, none of them hot"
    complexity = 300

    def _load(self) -> NDArray[np.float64]:
        return self._distinct

    def _burdens(
        self, histogram: Histogram, hosts: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        unknown = histogram.distinct - len(histogram)
        return np.ones(len(histogram)), np.full(hosts, unknown / hosts)
