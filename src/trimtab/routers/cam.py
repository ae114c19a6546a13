"""Group affinity with imbalance minimisation (cAM): new keys go to the least loaded candidate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.histogram import Histogram
from trimtab.plan import tail_by_host
from trimtab.routers._affinity import AffinityRouter


class CamRouter(AffinityRouter):
    """Keep each key on one lane for a window; place new keys by the number of tuples.

    With exact cardinality a key is on exactly one lane inside a window, so aggregation costs no
    more than plain hashing: `sum of distinct keys per lane = distinct keys`. No lane is spared a
    hot key: `max/mean >= lanes x top share`.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    choices
        Candidates per key, 1..31. More candidates let cold keys avoid the lanes of hot ones, at no
        cost in replication; 1 is plain hashing.
    cardinality
        "exact" remembers the keys of the window; "hll" keeps 4,096 bytes per lane whatever the
        number of keys, and may take a new key for a known one.
    seed
        Chooses the hash functions.

    Examples
    --------
    >>> import numpy as np
    >>> r = CamRouter(lanes=4, choices=4, seed=1)
    >>> hot, cold = np.zeros(300, dtype=np.uint64), np.arange(1, 301, dtype=np.uint64)
    >>> hot_lane = int(r.route(hot)[0])
    >>> int((r.route(cold) == hot_lane).sum()) < 30
    True

    References
    ----------
    Holistic, Section 4.2, Algorithm 4 (cAM-2, cAM-5).

    Notes
    -----
    `advance` ends the window. A key may be on another lane in the next one, so `splits_keys` is
    about a window: it is False for "exact". With "hll" it is True: a lane that never had the key
    may come to look as if it had, and if it is an earlier candidate the key moves there.

    Whichever candidate took a key keeps it, also with more than two. A tie goes to the first
    candidate.
    """

    name = "cam"
    paper = "Holistic, Algorithm 4"
    use_when = "whole keys, and no key holds more than a lane"
    complexity = 310

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return the paper's other setting, cAM-5, and the other way to count."""
        return ({"choices": 5}, *super().example_parameters())

    def _load(self) -> NDArray[np.int64]:
        return self._loads

    def _burdens(
        self, histogram: Histogram, hosts: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return histogram.weights, tail_by_host(histogram, hosts)
