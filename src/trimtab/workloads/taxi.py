"""Taxi trips as in the DEBS 2015 Grand Challenge, drawn instead of recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real, seed_number, whole
from trimtab.workloads.zipf import zipf_edges, zipf_ranks

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class TaxiTrips:
    """Trips in the order of their drop-off: who drove, from which cell to which, for how much.

    Cells are a square grid. Few of them are where most trips begin; a trip ends a distance away
    that is exponential, in a direction that is even, so that routes repeat near busy cells.

    Parameters
    ----------
    taxis
        Number of medallions, 1 or more; all drive about as often.
    side
        Cells along one side of the city, 2 or more: 250 gives 62,500.
    z
        Exponent of the law of pick-up cells, 0 or more.
    reach
        Mean distance of a trip, in cells, above 0.
    trips_per_second
        Rate, above 0.

    Examples
    --------
    >>> trips = TaxiTrips(taxis=50).trips(1000, seed=1)
    >>> sorted(trips)
    ['distance', 'dropoff', 'dropoff_time', 'fare', 'medallion', 'pickup', 'pickup_time', 'tip']
    >>> bool((np.diff(trips["dropoff_time"]) >= 0).all())
    True
    """

    taxis: int = 13_000
    side: int = 250
    z: float = 0.9
    reach: float = 8.0
    trips_per_second: float = 5.0

    def __post_init__(self) -> None:
        whole("taxis", self.taxis, 1)
        whole("side", self.side, 2)
        real("z", self.z, 0)
        real("reach", self.reach, 0, low_open=True)
        real("trips_per_second", self.trips_per_second, 0, low_open=True)

    def trips(self, count: int, seed: int = 0) -> Columns:
        """Draw trips, one array per column; times are seconds, cells are numbers."""
        whole("count", count, 0)
        random = np.random.default_rng(seed_number(seed))
        cells = self.side * self.side
        places = random.permutation(cells)
        pickup = places[zipf_ranks(random.random(count), zipf_edges(cells, self.z))]
        angle, far = random.random(count) * 2 * np.pi, random.exponential(self.reach, count)
        row = np.clip(pickup // self.side + np.rint(far * np.sin(angle)), 0, self.side - 1)
        column = np.clip(pickup % self.side + np.rint(far * np.cos(angle)), 0, self.side - 1)
        dropoff = (row * self.side + column).astype(np.int64)
        end = np.cumsum(random.exponential(1 / self.trips_per_second, count))
        distance = far * 0.5  # a cell is half a kilometre
        return {
            "medallion": random.integers(0, self.taxis, count),
            "pickup": pickup,
            "dropoff": dropoff,
            "pickup_time": end - 60 - 120 * distance,
            "dropoff_time": end,
            "distance": distance,
            "fare": np.round(2.5 + 1.6 * distance, 2),
            "tip": np.round(random.exponential(1.5, count), 2),
        }


def route(trips: Columns) -> NDArray[np.int64]:
    """Return one number for each trip's pair of cells: the key of the most frequent routes."""
    most = np.int64(1) << 32
    return np.asarray(trips["pickup"] * most + trips["dropoff"], dtype=np.int64)
