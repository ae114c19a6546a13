"""Which partitioner suits a workload: every one of them is predicted, one is recommended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import capacities as checked_capacities
from trimtab._checks import lane_count, one_of, real
from trimtab.control.cost_model import Operator, makespan
from trimtab.control.placements import Workload
from trimtab.errors import InvalidArgument, UnknownName
from trimtab.histogram import Histogram
from trimtab.metrics import max_over_mean
from trimtab.partitioners import class_of, known, make
from trimtab.planners import Planner
from trimtab.planners.hash import HashPlanner


@dataclass(frozen=True)
class Prediction:
    """What one partitioner is expected to do.

    `makespan` is in seconds. `allowed` says whether the operator can work with it, `within_eq3`
    whether merging costs no more than the heaviest lane, or nothing at all (Holistic Eq. 3).
    """

    name: str
    kind: str
    makespan: float
    max_over_mean: float
    replication: float
    aggregation_cost: float
    allowed: bool
    within_eq3: bool
    note: str


@dataclass(frozen=True)
class Advice:
    """The recommended partitioner, the reason, and the predictions of all, best first.

    `timed` says whether seconds were measured: by weights in seconds, or by an operator with times
    of its own. Otherwise predicted times are only good for comparison, and shown as ratios.
    """

    recommended: str
    reason: str
    table: tuple[Prediction, ...]
    timed: bool = False

    def __getitem__(self, name: str) -> Prediction:
        for row in self.table:
            if row.name == name:
                return row
        raise UnknownName("partitioner", name, [row.name for row in self.table])

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as JSON can hold it."""
        return asdict(self)

    def explain(self, most: int = 10) -> str:
        """Say the advice in a few lines: the reason, then the best partitioners."""
        what = "seconds" if self.timed else "time/best"
        unit = 1.0 if self.timed or not self.table else self[self.recommended].makespan or 1.0
        head = f"{'partitioner':<12}{what:>12}{'max/mean':>10}{'replication':>13}  note"
        rows = [
            f"{row.name:<12}{row.makespan / unit:>12.4g}{row.max_over_mean:>10.3f}"
            f"{row.replication:>13.3f}  {row.note}".rstrip()
            for row in self.table[:most]
        ]
        return "\n".join([f"{self.recommended}: {self.reason}", head, *rows])


class Advisor:
    """Predict every partitioner's makespan for an operator, and recommend one.

    A partitioner's makespan is that of `cost_model.makespan`: the slowest lane, plus the merge of
    partial results where keys are split. The fastest allowed partitioner is recommended, except
    that a simpler one is preferred when it is within `margin` of it. So `hash`, which is
    Spark's own way, is the answer whenever nothing is gained by anything else.

    Parameters
    ----------
    operator
        What the keys are placed for.
    lanes
        Number of lanes, 1 or more.
    margin
        Relative gain that is not worth a less simple partitioner, 0 or more. Raising it makes
        `hash` the answer more often.
    rule
        `makespan`, or `holistic`: the least imbalance among those whose aggregation cost is at most
        the heaviest lane's load (Holistic Eq. 3); where none is, the least aggregation cost.
    capacities
        Relative speed of each lane; by default all lanes are equal.
    partitioners
        Names to choose from; by default all planners and routers.
    seed
        Chooses hash functions and sample.

    Examples
    --------
    >>> hot = Histogram.from_counts({1: 5e5, 2: 1e5}, total=1e6, distinct=50_000)
    >>> whole = Advisor(Operator(split_keys=False), lanes=16).advise(hot)
    >>> split = Advisor(Operator(split_keys=True), lanes=16).advise(hot)
    >>> whole.recommended, split.recommended
    ('kip', 'trim')
    >>> split.reason
    "a hash takes 7.91 times as long: the heaviest known key holds 50.0% of the weight, 8 lanes'
    worth; splitting leaves 1.000 partial results per key"
    >>> even = Histogram.from_counts({}, total=1e6, distinct=50_000)
    >>> Advisor(Operator(), lanes=16).advise(even).recommended
    'hash'

    References
    ----------
    Holistic, Eq. 3 and Section 7. The time of a lane is Prompt's argument for Eq. 2 to 4.

    Notes
    -----
    Planners make a real plan from the heaviest keys and measured hosts, and its loads are taken.
    Routers whose lane follows from the key alone place all known keys; round robin and its like
    are level by nature, and their keys are spread as by chance. All others route a sample of
    `64 x lanes` tuples; those that learn go through it before. Redist, whose time is the square of
    its keys, is shown few of them, and Dalton learns for longer than the sample lasts: for both
    the prediction is likely too high. Where `hash` and `trim` are both planner and router, the
    planner is predicted. For a combinable operator `hash` means Spark's aggregation with its
    map-side combine, which has shuffle's placement.
    """

    def __init__(
        self,
        operator: Operator,
        lanes: int,
        *,
        margin: float = 0.02,
        rule: str = "makespan",
        capacities: ArrayLike | None = None,
        partitioners: Sequence[str] | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(operator, Operator):
            raise InvalidArgument(f"operator must be an Operator; got {type(operator).__name__}")
        self.operator = operator
        self.lanes = lane_count(lanes)
        self.margin = real("margin", margin, 0)
        self.rule = one_of("rule", rule, ("makespan", "holistic"))
        self.capacities = checked_capacities(capacities, self.lanes)
        self.partitioners = known() if partitioners is None else tuple(partitioners)
        for name in self.partitioners:
            class_of(name)  # an unknown name is refused here
        if not self.partitioners:
            raise InvalidArgument("partitioners must name at least one; got none")
        self.seed = seed

    def advise(self, histogram: Histogram, hash_loads: ArrayLike | None = None) -> Advice:
        """Predict all partitioners for keys distributed as in `histogram`.

        Parameters
        ----------
        histogram
            The keys.
        hash_loads
            Weight of each lane by the hash that is in use, where that was counted, such as Spark's
            own. By default it is worked out from the key hashes, which are xxhash64.
        """
        if not isinstance(histogram, Histogram):
            raise InvalidArgument(
                f"advise() takes a trimtab.Histogram; got {type(histogram).__name__}"
            )
        if histogram.total <= 0:
            return Advice(HashPlanner.name, "there is no weight to level", ())
        workload = Workload(histogram, self.lanes, self.seed)
        counted = None if hash_loads is None else np.asarray(hash_loads, dtype=np.float64)
        if counted is not None and counted.shape != (self.lanes,):
            raise InvalidArgument(
                f"hash_loads must be one number per lane; got {counted.size} for {self.lanes} lanes"
            )
        rows = [self._predict(name, workload, counted) for name in self.partitioners]
        allowed = [row for row in rows if row.allowed]
        if not allowed:
            raise InvalidArgument(
                f"none of {', '.join(self.partitioners)} keeps keys whole, as the operator needs; "
                "add one that does, such as 'hash'"
            )
        best = self._best(allowed)
        table = sorted(rows, key=lambda row: (not row.allowed, row.makespan, _complexity(row.name)))
        timed = histogram.unit == "seconds" or self.operator.row_seconds != Operator().row_seconds
        return Advice(best.name, self._reason(best, rows, histogram, timed), tuple(table), timed)

    def _best(self, rows: list[Prediction]) -> Prediction:
        if self.rule == "makespan":
            least = min(row.makespan for row in rows)
            good = [row for row in rows if row.makespan <= least * (1 + self.margin)]
        else:
            good = [row for row in rows if row.within_eq3]
            if not good:
                fewest = min(row.aggregation_cost for row in rows)
                good = [r for r in rows if r.aggregation_cost <= fewest * (1 + self.margin)]
            least = min(row.max_over_mean for row in good)
            good = [row for row in good if row.max_over_mean <= least * (1 + self.margin)]
        return min(good, key=lambda row: _complexity(row.name))

    def _predict(
        self, name: str, workload: Workload, hash_loads: NDArray[np.float64] | None
    ) -> Prediction:
        made = make(
            name,
            self.lanes,
            seed=self.seed,
            capacities=self.capacities,
            split=self.operator.split_keys,
        )
        notes = [made.prediction_note] if made.prediction_note else []
        splits = made.splits_keys
        if isinstance(made, Planner):
            kind, placement = "planner", workload.of_planner(made)
        else:
            kind, placement = "router", workload.of_router(made)
        if made.is_plain_hashing and hash_loads is not None:
            placement = replace(placement, loads=hash_loads)
            notes.append("the hash in use, as counted")
        combined = made.is_plain_hashing and self.operator.combinable
        if combined:
            placement, splits = workload.blind(), False
            notes.append("Spark combines on the map side")
        allowed = self.operator.split_keys or not splits
        expected = makespan(
            placement,
            self.operator,
            unit=workload.histogram.unit,
            capacities=self.capacities,
            combined=combined,
        )
        if not allowed:
            notes.append("splits keys, which the operator does not allow")
        within = placement.within_eq3 or not placement.splits_keys
        if not within:
            notes.append("more partial results than rows on the heaviest lane")
        return Prediction(
            name,
            kind,
            expected.seconds,
            max_over_mean(placement.loads, self.capacities),
            placement.replication,
            placement.aggregation_cost,
            allowed,
            within,
            "; ".join(notes),
        )

    def _reason(
        self, best: Prediction, rows: list[Prediction], histogram: Histogram, timed: bool
    ) -> str:
        heaviest = float(histogram.shares[0]) if len(histogram) else 0.0
        skew = (
            f"the heaviest known key holds {heaviest:.1%} of the weight, "
            f"{heaviest * self.lanes:.2g} lanes' worth"
        )
        if _is_sparks_own(best):
            return f"leave it to Spark's hash: {self._why_hash(best, rows, skew)}"
        plain = next((row for row in rows if _is_sparks_own(row)), None)
        parts = [f"{best.makespan:.3g} s expected"] if timed else []
        if plain is not None and best.makespan > 0:
            seconds = f", {plain.makespan:.3g} s" if timed else ""
            longer = f"{plain.makespan / best.makespan:.3g} times as long"
            parts.append(f"a hash takes {longer}{seconds}")
        text = f"{'; '.join(parts)}: {skew}" if parts else skew
        if best.replication > 1:
            text += f"; splitting leaves {best.replication:.3f} partial results per key"
        return text

    def _why_hash(self, best: Prediction, rows: list[Prediction], skew: str) -> str:
        if self.operator.combinable:
            return (
                "it combines on the map side, so that of every key, however hot, only "
                f"{best.replication:.3g} rows travel on average"
            )
        others = [row for row in rows if row.allowed and not _is_sparks_own(row)]
        if not others:
            return f"there was nothing else to choose from; {skew}"
        other = min(others, key=lambda row: (row.makespan, _complexity(row.name)))
        gain = max(0.0, 1 - other.makespan / best.makespan) if best.makespan > 0 else 0.0
        return (
            f"{skew}, max/mean is {best.max_over_mean:.3f}, and the best other partitioner, "
            f"{other.name}, would save {gain:.1%}"
        )


def _is_sparks_own(row: Prediction) -> bool:
    return class_of(row.name).is_plain_hashing


def _complexity(name: str) -> tuple[int, str]:
    """Return what decides between equals: how simple the partitioner is, then its name."""
    return class_of(name).complexity, name
