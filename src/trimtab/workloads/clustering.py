"""Correlation clustering of a key's values: VOTE where tuples arrive, GREEDY where parts meet."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import real


def vote(values: ArrayLike, near: float) -> NDArray[np.int64]:
    """Return the cluster of each value, in order of arrival.

    Two values agree if they differ by at most `near`, and disagree otherwise. A value joins the
    cluster with the most votes, agreements less disagreements, or opens one if none is above 0.
    The work is quadratic in the number of values.

    >>> vote([1.0, 5.0, 1.2, 5.1, 9.0], near=0.5).tolist()
    [0, 1, 0, 1, 2]

    References
    ----------
    Dalton, Section 5 (correlation clustering in the combiners).
    """
    points = np.asarray(values, dtype=np.float64)
    real("near", near, 0)
    clusters = np.empty(points.size, dtype=np.int64)
    opened = 0
    for i in range(points.size):
        votes = np.where(np.abs(points[:i] - points[i]) <= near, 1, -1)
        sums = np.bincount(clusters[:i], weights=votes, minlength=opened)
        best = int(sums.argmax()) if opened else -1
        if best < 0 or sums[best] <= 0:
            best, opened = opened, opened + 1
        clusters[i] = best
    return clusters


def greedy(values: ArrayLike, clusters: ArrayLike, near: float) -> NDArray[np.int64]:
    """Merge clusters, the pair that gains most first, until no merge gains anything.

    The gain of a merge is the agreements less the disagreements between the two. Clusters come
    out numbered by their least value.

    >>> greedy([1.0, 1.1, 1.2, 9.0], [0, 1, 1, 2], near=0.5).tolist()
    [0, 0, 0, 1]

    References
    ----------
    Dalton, Section 5 (the reducers, which get fragments of one key from several combiners).
    """
    points = np.asarray(values, dtype=np.float64)
    names, of = np.unique(np.asarray(clusters), return_inverse=True)
    signs = np.where(np.abs(points[:, None] - points[None, :]) <= near, 1.0, -1.0)
    members = np.eye(names.size)[of]
    gains = members.T @ signs @ members
    np.fill_diagonal(gains, 0.0)
    owner = np.arange(names.size)
    while gains.max(initial=0.0) > 0:
        kept, gone = sorted(np.unravel_index(int(gains.argmax()), gains.shape))
        gains[kept] += gains[gone]
        gains[:, kept] += gains[:, gone]
        gains[gone] = gains[:, gone] = 0.0
        gains[kept, kept] = 0.0
        owner[owner == gone] = kept
    merged = owner[of]
    least = {int(name): points[merged == name].min() for name in np.unique(merged)}
    order = {name: place for place, name in enumerate(sorted(least, key=least.__getitem__))}
    return np.array([order[int(name)] for name in merged], dtype=np.int64)
