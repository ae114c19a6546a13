"""What a placement of keys on lanes costs an operator: imbalance and aggregation in one number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab import metrics
from trimtab._checks import capacities as checked_capacities
from trimtab._checks import lane_count, real, whole
from trimtab.errors import InvalidArgument


@dataclass(frozen=True)
class Operator:
    """What there is to know of an operator before its keys are placed.

    Attributes
    ----------
    split_keys
        Whether a key may be worked on in several places.
    row_seconds
        Seconds per row, 0 or more (per byte where weights are bytes; weights in seconds count as
        they are).
    key_seconds
        Seconds per key on a lane, 0 or more: opening a group, or loading the other side of a join.
    ship_seconds
        Seconds to send a row, or a partial result, to a lane, 0 or more (per byte where weights
        are bytes). The default is what a Spark shuffle takes for a small row.
    merge_seconds
        Seconds to merge one partial result, 0 or more; 0 where nothing has to be merged.
    stage_seconds
        Seconds that a second stage costs by itself, 0 or more.
    combinable
        Whether Spark combines rows of a key on the map side by itself, as in `agg(sum)`.
    mergers
        Tasks that merge; by default as many as lanes. The Holistic paper has one.

    Examples
    --------
    >>> Operator(split_keys=True, merge_seconds=1e-6).needs_merge
    True
    """

    split_keys: bool = False
    row_seconds: float = 1e-6
    key_seconds: float = 0.0
    ship_seconds: float = 5e-7
    merge_seconds: float = 1e-6
    stage_seconds: float = 0.0
    combinable: bool = False
    mergers: int | None = None

    def __post_init__(self) -> None:
        for name in (
            "row_seconds",
            "key_seconds",
            "ship_seconds",
            "merge_seconds",
            "stage_seconds",
        ):
            real(name, getattr(self, name), 0)
        if self.mergers is not None:
            whole("mergers", self.mergers, 1)
        if self.combinable and not self.split_keys:
            raise InvalidArgument(
                "a combinable operator merges partial results, so its keys may be split; got "
                "combinable=True with split_keys=False; set split_keys=True"
            )

    @property
    def needs_merge(self) -> bool:
        """Whether split keys cost a second stage."""
        return self.merge_seconds > 0 or self.stage_seconds > 0


@dataclass(frozen=True, eq=False)
class Placement:
    """Where a partitioner puts the keys, as far as costs go.

    Attributes
    ----------
    loads
        Weight of each lane.
    cardinalities
        Distinct keys of each lane; their sum is the aggregation cost of Holistic Eq. 2.
    keys
        Distinct keys in all.
    widest
        Most lanes that any key is on.
    """

    loads: NDArray[np.float64]
    cardinalities: NDArray[np.float64]
    keys: float
    widest: float

    @classmethod
    def measured(cls, hashes: ArrayLike, lanes: ArrayLike, n: int) -> Placement:
        """Take the placement of tuples that were really routed."""
        found = metrics.costs(hashes, lanes, n)
        cardinalities = found.cardinalities.astype(np.float64)
        return cls(found.loads, cardinalities, float(found.keys), float(found.widest_key))

    @property
    def aggregation_cost(self) -> float:
        """Number of partial results (Holistic Eq. 2)."""
        return float(self.cardinalities.sum())

    @property
    def replication(self) -> float:
        """Lanes per key; 1 means that no key is split."""
        return self.aggregation_cost / self.keys if self.keys else 1.0

    @property
    def splits_keys(self) -> bool:
        """Whether any key is on more than one lane."""
        return self.widest > 1.0

    @property
    def within_eq3(self) -> bool:
        """Whether aggregation costs no more than the heaviest lane (Holistic Eq. 3)."""
        return self.aggregation_cost <= float(self.loads.max())


@dataclass(frozen=True)
class Makespan:
    """How long the lanes take, and the merge after them."""

    lanes: float
    merge: float

    @property
    def seconds(self) -> float:
        """The whole time."""
        return self.lanes + self.merge


def makespan(
    placement: Placement,
    operator: Operator,
    *,
    unit: str = "rows",
    capacities: ArrayLike | None = None,
    combined: bool = False,
) -> Makespan:
    """Return the time that the slowest lane takes, plus the merge if keys are split.

        `max_j ((row_seconds + ship_seconds) x load_j + key_seconds x keys_j) / capacity_j`
        `+ stage_seconds + (merge_seconds + ship_seconds) x max(partial results / mergers, widest)`

    `combined` says that the rows are worked on where they are, before anything is sent: Spark's
    map-side combine. Then only partial results travel.

    >>> placement = Placement(np.array([60.0, 40.0]), np.array([3.0, 2.0]), keys=4, widest=2)
    >>> operator = Operator(split_keys=True, row_seconds=1.0, ship_seconds=0.5, merge_seconds=2.0)
    >>> makespan(placement, operator)
    Makespan(lanes=90.0, merge=6.25)
    """
    n = lane_count(placement.loads.size)
    per_weight = operator.row_seconds + (0.0 if combined else operator.ship_seconds)
    if unit == "seconds":
        per_weight = 1.0
    work = per_weight * placement.loads + operator.key_seconds * placement.cardinalities
    busy = float((work / checked_capacities(capacities, n)).max())
    if not combined and not (placement.splits_keys and operator.needs_merge):
        return Makespan(busy, 0.0)
    mergers = n if operator.mergers is None else operator.mergers
    partial = max(placement.aggregation_cost / mergers, placement.widest)
    per_partial = operator.merge_seconds + operator.ship_seconds
    return Makespan(busy, operator.stage_seconds + per_partial * partial)


def selection_rule(groups: float, rows: float, lanes: int) -> str:
    """Return the Holistic paper's advice: `shuffle` for few groups, `cam` for many.

    Shuffle fits where the groups are far fewer than the rows of a lane. "Far fewer" is read from
    Eq. 3: shuffle's most partial results, `lanes x groups`, must not exceed `rows / lanes`.

    >>> selection_rule(groups=4, rows=1e6, lanes=32), selection_rule(5e4, 1e6, 32)
    ('shuffle', 'cam')

    References
    ----------
    Holistic, Section 7.
    """
    return "shuffle" if groups * lanes <= rows / lane_count(lanes) else "cam"
