"""A click stream whose popular pages change while it runs, with names that people can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real, seed_number, whole
from trimtab.workloads.zipf import zipf_edges, zipf_ranks, zipf_shares

_COLOURS = ("amber", "azure", "coral", "ivory", "jade", "olive", "pearl", "ruby", "sable", "teal")
_THINGS = (
    *("anchor", "basket", "candle", "desk", "easel", "fiddle", "guitar", "hammock", "inkwell"),
    *("jacket", "kettle", "lantern", "mirror", "novel", "oven", "parka", "quilt", "rucksack"),
    *("saddle", "teapot", "umbrella", "violin", "wagon", "yoyo"),
)


@dataclass(frozen=True)
class Clicks:
    """Batches of clicks on pages, whose popularity follows Zipf's law and changes at the top.

    Every `drift_every` batches, `movers` of the `top` most popular pages trade places with pages
    from far down; the most popular one is always among them. All other pages keep their
    popularity, as on a real site, where stories come and go and the rest hardly changes.

    Parameters
    ----------
    pages
        Number of pages, more than `top`.
    z
        Exponent of Zipf's law, 0 or more; higher is more skewed.
    drift_every
        Batches between two changes, 1 or more.
    top, movers
        How many pages count as popular, and how many of them change each time, 0..top.
    seed
        Seed of every random choice.

    Examples
    --------
    >>> clicks = Clicks(pages=500, z=1.1, drift_every=2, seed=1)
    >>> first, second, third = (set(clicks.shares(b).argsort()[-5:]) for b in (0, 1, 2))
    >>> first == second, first == third
    (True, False)
    >>> clicks.names(clicks.batch(0, rows=3)).shape
    (3,)
    """

    pages: int = 20_000
    z: float = 1.1
    drift_every: int = 4
    top: int = 8
    movers: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        whole("pages", self.pages, 2)
        real("z", self.z, 0)
        whole("drift_every", self.drift_every, 1)
        whole("top", self.top, 1, self.pages - 1)
        whole("movers", self.movers, 0, self.top)
        seed_number(self.seed)

    def shares(self, batch: int) -> NDArray[np.float64]:
        """Return each page's share of the clicks in a batch."""
        ranks = zipf_shares(self.pages, self.z)
        shares = np.empty(self.pages)
        shares[self._page_of_rank(whole("batch", batch, 0))] = ranks
        return shares

    def batch(self, batch: int, rows: int) -> NDArray[np.int64]:
        """Draw the pages of `rows` clicks of one batch; a batch always has the same clicks."""
        rng = np.random.default_rng([self.seed, 1, whole("batch", batch, 0)])
        draws = rng.random(whole("rows", rows, 0))
        return self._page_of_rank(batch)[zipf_ranks(draws, zipf_edges(self.pages, self.z))]

    def batches(self, count: int, rows: int) -> Iterator[NDArray[np.int64]]:
        """Draw `count` batches of `rows` clicks each."""
        return (self.batch(batch, rows) for batch in range(count))

    def names(self, pages: NDArray[np.int64]) -> NDArray[np.str_]:
        """Return the pages' paths, such as `/shop/jade-teapot-1234`."""
        combinations = len(_COLOURS) * len(_THINGS)
        known = np.array([f"/shop/{colour}-{thing}" for thing in _THINGS for colour in _COLOURS])
        names = np.array(
            [
                known[page] if page < combinations else f"{known[page % combinations]}-{page}"
                for page in range(self.pages)
            ]
        )
        return np.asarray(names[np.asarray(pages)])

    def _page_of_rank(self, batch: int) -> NDArray[np.int64]:
        rng = np.random.default_rng([self.seed, 0])
        pages = rng.permutation(self.pages)
        far = max(self.top, self.pages // 10)
        for _ in range(batch // self.drift_every):
            falling = np.append(0, 1 + rng.permutation(self.top - 1))[: self.movers]
            rising = rng.choice(np.arange(far, self.pages), falling.size, replace=False)
            pages[falling], pages[rising] = pages[rising], pages[falling]
        return pages
