from __future__ import annotations

import numpy as np
import pytest

from trimtab.errors import InvalidArgument
from trimtab.workloads.taxi import TaxiTrips, route
from trimtab.workloads.zipf import zipf_shares

LAW = TaxiTrips(taxis=500, side=50, z=0.9, reach=4.0, trips_per_second=5.0)
TRIPS = LAW.trips(100_000, seed=1)


def test_trips_give_back_the_parameters() -> None:
    counts = np.sort(np.bincount(TRIPS["pickup"], minlength=2500))[::-1]
    top = zipf_shares(2500, 0.9)[:5].sum()
    assert counts[:5].sum() / 100_000 == pytest.approx(top, rel=0.03)
    # A cell is half a kilometre.
    assert TRIPS["distance"].mean() / 0.5 == pytest.approx(4.0, rel=0.02)
    seconds = TRIPS["dropoff_time"][-1] - TRIPS["dropoff_time"][0]
    assert 100_000 / seconds == pytest.approx(5.0, rel=0.02)
    by_taxi = np.bincount(TRIPS["medallion"], minlength=500)
    assert by_taxi.std() / by_taxi.mean() == pytest.approx((1 / 200) ** 0.5, rel=0.2)


def test_a_route_is_a_pair_of_cells() -> None:
    keys = route(TRIPS)
    pairs = set(zip(TRIPS["pickup"].tolist(), TRIPS["dropoff"].tolist(), strict=True))
    assert np.unique(keys).size == len(pairs)


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidArgument, match="side"):
        TaxiTrips(side=1)
