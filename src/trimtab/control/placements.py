"""Where each partitioner puts the keys of a histogram, found without routing the stream."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from trimtab._key_arrays import host_of
from trimtab.control.cost_model import Placement
from trimtab.control.sampling import LUMP, SAMPLES_PER_LANE, Sample, rows_per_weight
from trimtab.histogram import Histogram
from trimtab.plan import tail_by_host
from trimtab.planners import Planner
from trimtab.routers import Router

FINEST_HOSTS_PER_LANE = 128
"""Weights are counted for so many hosts first: most planners have a number of hosts that divides
it, and their counts are then sums of these."""


class Workload:
    """A histogram in the forms that predictions need, each made once."""

    def __init__(self, histogram: Histogram, lanes: int, seed: int) -> None:
        self.histogram = histogram
        self.lanes = lanes
        self.seed = seed
        strangers = int(histogram.tail_weight > 0)
        self.keys = max(histogram.distinct, len(histogram) + strangers)
        self._by_hosts: dict[tuple[int, int], Histogram] = {}
        self._measured: dict[int, NDArray[np.float64]] = {}
        self._host_weights(FINEST_HOSTS_PER_LANE * lanes)
        self._samples: dict[bool, Sample] = {}
        self._blind: Placement | None = None

    def by_hosts(self, hosts: int, keys: int) -> Histogram:
        """Return the heaviest keys, and the weight of all keys by host."""
        if (hosts, keys) not in self._by_hosts:
            full = self.histogram
            self._by_hosts[hosts, keys] = Histogram(
                full.hashes[:keys],
                full.weights[:keys],
                full.total,
                full.distinct,
                full.unit,
                host_weights=self._host_weights(hosts),
            )
        return self._by_hosts[hosts, keys]

    def _host_weights(self, hosts: int) -> NDArray[np.float64]:
        if hosts not in self._measured:
            finer = [size for size in self._measured if size % hosts == 0]
            if finer:
                # Folding a finer count is quicker than counting all keys again.
                weights = self._measured[finer[0]].reshape(-1, hosts).sum(axis=0)
            else:
                full = self.histogram
                known = np.bincount(host_of(full.hashes, hosts), full.weights, hosts)
                weights = known + tail_by_host(full, hosts)
            self._measured[hosts] = weights
        return self._measured[hosts]

    def of_planner(self, planner: Planner) -> Placement:
        """Return the placement of the plan that `planner` makes."""
        keys = math.ceil(planner.known_keys_per_lane * self.lanes)
        plan = planner.plan(self.by_hosts(planner.hosts or self.lanes, keys))
        light = max(self.keys - len(plan), 0)
        hosts = np.bincount(plan.hosts, minlength=self.lanes)
        return Placement(
            plan.loads(self.by_hosts(plan.hosts.size, keys)),
            np.bincount(plan.lane_of, minlength=self.lanes) + light * (hosts / plan.hosts.size),
            float(max(self.keys, len(plan))),
            float(np.diff(plan.starts).max(initial=1)),
        )

    def of_router(self, router: Router) -> Placement:
        """Return the placement that `router` is expected to come to."""
        if router.ignores_keys:
            return self.blind()
        if router.same_lane_in_every_task:
            return self._by_key(router.route(self.histogram.hashes))
        if router.splits_keys not in self._samples:
            # Where keys stay whole there is no splitting to see, and single tuples are more even.
            self._samples[router.splits_keys] = Sample.draw(
                self.histogram,
                SAMPLES_PER_LANE * self.lanes,
                lump=LUMP if router.splits_keys else 1,
                seed=self.seed,
            )
        sample = self._samples[router.splits_keys]
        if router.passes_to_learn:
            sample = sample.repeated(router.passes_to_learn)
            router.route(sample.stream)
            router.advance()
        return sample.placement(
            router.route(sample.stream), self.lanes, tail_is_blind=router.hashes_the_tail
        )

    def _by_key(self, lanes: NDArray[np.int32]) -> Placement:
        full = self.histogram
        strangers = (self.keys - len(full)) / self.lanes
        loads = np.bincount(lanes, full.weights, self.lanes) + full.tail_weight / self.lanes
        keys = np.bincount(lanes, minlength=self.lanes) + strangers
        return Placement(np.asarray(loads), np.asarray(keys), float(self.keys), 1.0)

    def blind(self) -> Placement:
        """Return the placement where every tuple goes anywhere, whatever its key.

        A key of w tuples is then on `n (1 - (1 - 1/n)^w)` of n lanes on average.
        """
        if self._blind is None:
            full, n = self.histogram, self.lanes
            per_row = rows_per_weight(full)
            strangers = self.keys - len(full)
            each = full.tail_weight * per_row / strangers if strangers else 0.0
            # A power by way of its logarithm: a tenth of the time, for as many keys as there are.
            decay = np.log(1.0 - 1.0 / n) if n > 1 else -np.inf
            spread = -n * np.expm1(np.maximum(full.weights * per_row, 1.0) * decay)
            pairs = float(spread.sum()) - strangers * n * float(np.expm1(max(each, 1.0) * decay))
            self._blind = Placement(
                np.full(n, full.total / n),
                np.full(n, pairs / n),
                float(self.keys),
                float(spread.max(initial=1.0)),
            )
        return self._blind
