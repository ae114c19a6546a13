"""A record of past histograms, so that one odd batch does not decide where keys live."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from trimtab._checks import real, whole
from trimtab._format import Format
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.histogram import Histogram

_FORMAT = Format("trimtab.histogram-history", 1, "the state of a histogram history")


class HistogramHistory:
    """Keep the last histograms and blend them, the newest counting most.

    With `h_a` the histogram of a batches ago, `blend()` is
    `sum(fade^a h_a) / sum(fade^a)`: the newest counts most, and a batch that nothing follows has
    half of its say left after `log(1/2) / log(fade)` batches.

    Parameters
    ----------
    length
        Histograms kept, 1 or more; older ones are forgotten.
    fade
        In (0, 1]. One gives all kept batches the same say; a smaller one follows drift faster.

    Examples
    --------
    >>> history = HistogramHistory(length=2, fade=0.5)
    >>> history.add(Histogram.from_counts({7: 90.0, 8: 10.0}))
    >>> history.add(Histogram.from_counts({7: 30.0, 9: 70.0}))
    >>> blend = history.blend()
    >>> blend.total, dict(zip(blend.hashes.tolist(), blend.weights.round(1).tolist()))
    (100.0, {7: 50.0, 9: 46.7, 8: 3.3})

    References
    ----------
    Dynamic Repartitioning, Section 3: a record of past histograms makes a partitioner useful in
    the long run.

    Notes
    -----
    The paper does not say how the record is used; shares that fall by age are our reading. A key
    that is not among the known ones of a histogram adds nothing there.
    """

    def __init__(self, length: int = 8, fade: float = 0.5) -> None:
        self.length = whole("length", length, 1)
        self.fade = real("fade", fade, 0, 1, low_open=True)
        self._kept: list[Histogram] = []

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Histogram]:
        """Go through the kept histograms, the oldest first."""
        return iter(tuple(self._kept))

    def add(self, histogram: Histogram) -> None:
        """Record the histogram of the batch that has just ended."""
        if not isinstance(histogram, Histogram):
            raise InvalidArgument(
                f"a history holds histograms; got {type(histogram).__name__}; use "
                f"Histogram.from_sketch for a sketch"
            )
        self._kept = [*self._kept, histogram][-self.length :]

    def blend(self, top: int | None = None) -> Histogram:
        """Return the faded mean of the kept histograms; keep its `top` heaviest keys, or all."""
        if not self._kept:
            raise InvalidArgument("the history is empty; add a histogram first")
        shares = [self.fade**age for age in range(len(self._kept))]
        parts = [
            histogram.scaled(share / sum(shares))
            for share, histogram in zip(shares, reversed(self._kept), strict=True)
        ]
        blended = parts[0].merge(*parts[1:])
        return blended if top is None else blended.top(top)

    def state(self) -> dict[str, Any]:
        """Return everything that is kept, as JSON values."""
        return {
            **_FORMAT.head(),
            "length": self.length,
            "fade": self.fade,
            "histograms": [histogram.to_json() for histogram in self._kept],
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Make a history equal to the one that gave `state`."""
        _FORMAT.check(state, "the given state")
        try:
            made = cls(state["length"], state["fade"])
            for text in state["histograms"]:
                made.add(Histogram.from_json(text, source="histogram history"))
        except CorruptState:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptState(f"histogram history is damaged: {error}") from error
        return made
