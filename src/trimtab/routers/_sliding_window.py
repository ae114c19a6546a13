"""Loads over a sliding window of slides: a ring of past slides, subtracted when they leave."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from trimtab._parameters import Parameter, Whole
from trimtab.errors import CorruptState
from trimtab.routers.base import Router

NEVER = np.int32(-(2**31))
"""The slide stamp of a lane that does not hold a key."""

SLIDES = Parameter(
    "slides", 60, Whole(1, 1 << 20), "slides per window; more remember loads for longer"
)


class SlidingWindowRouter(Router):
    """A router whose `_loads` are those of the last `slides` slides; `advance` ends a slide.

    The kernel counts into `_loads` alone. When a slide ends, what it has added since `_slide_start`
    goes into a ring. When the slide leaves the window, that is subtracted from the loads. So the
    end of a slide costs O(lanes), however long the window is (subtract on evict).

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    slides
        Slides per window, 1 or more: the paper's W / s. 1 is a tumbling window.
    seed
        Chooses the random decisions.

    References
    ----------
    Dalton, Section 3.3.
    """

    # Lanes are to be level in each batch: what earlier batches had does not make up for it.
    stream_parameters: ClassVar[Mapping[str, Any]] = MappingProxyType({"slides": 1})

    _learned: ClassVar[tuple[str, ...]] = ("_slide", "_slide_start", "_ring")

    def __init__(self, lanes: int, slides: int, seed: int) -> None:
        super().__init__(lanes, seed)
        self.slides = self._check(SLIDES, slides)
        self._slide = 0
        self._slide_start: NDArray[np.int64] = np.zeros(self.lanes, dtype=np.int64)
        self._ring: NDArray[np.int64] = np.zeros((self.slides, self.lanes), dtype=np.int64)

    @property
    def _oldest(self) -> int:
        """The newest slide that has left the window: only later stamps count."""
        return self._slide - self.slides

    def advance(self) -> None:
        """End a slide: the oldest one leaves the window, with its loads and its fragments."""
        self._ring[self._slide % self.slides] = self._loads - self._slide_start
        self._slide += 1
        leaving = self._ring[self._slide % self.slides]
        self._loads -= leaving
        self._past += leaving
        leaving[:] = 0
        self._slide_start[:] = self._loads
        self._expire_fragments()

    @abstractmethod
    def _expire_fragments(self) -> None:
        """Forget which lanes held which keys in the slide that has left."""

    def _restored(self) -> None:
        shapes = {
            "_loads": (self.lanes,),
            "_past": (self.lanes,),
            "_slide_start": (self.lanes,),
            "_ring": (self.slides, self.lanes),
        }
        for field, shape in shapes.items():
            self._require_shape(field, shape)

    def _require_shape(self, field: str, shape: tuple[int, ...]) -> None:
        found = getattr(self, field).shape
        if found != shape:
            raise CorruptState(
                f"state of router {self.name!r} has {field!r} of shape {found}; expected {shape}"
            )
