"""The costs of a partitioning, as the papers define them, from loads or from keys and lanes.

Functions of `loads` take the weight of each lane, functions of `cardinalities` the number of
distinct keys of each lane, functions of `hashes, lanes` the key and the lane of each tuple.
`costs` computes everything at once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import capacities as checked_capacities
from trimtab._checks import key_hashes, lane_count, real
from trimtab._pairs import Pairs, lane_numbers
from trimtab.errors import InvalidArgument


def max_over_mean(loads: ArrayLike, capacities: ArrayLike | None = None) -> float:
    """Return the heaviest lane over the mean lane: 1 is level, `len(loads)` is all on one lane.

    With capacities, a lane's load counts in relation to what it can do. No load is level.

    >>> max_over_mean([30, 10, 10, 10])
    2.0
    """
    weights = _loads(loads)
    mean = weights.mean()
    if mean <= 0:
        return 1.0
    return float((weights / checked_capacities(capacities, weights.size)).max() / mean)


def imbalance(loads: ArrayLike) -> float:
    """Return `max - mean` of the lanes' loads (Holistic Eq. 1).

    >>> imbalance([30, 10, 10, 10])
    15.0
    """
    weights = _loads(loads)
    return float(weights.max() - weights.mean())


def coefficient_of_variation(loads: ArrayLike) -> float:
    """Return the standard deviation of the loads over their mean; 0 is level.

    >>> coefficient_of_variation([1, 3])
    0.5
    """
    weights = _loads(loads)
    mean = weights.mean()
    return float(weights.std() / mean) if mean > 0 else 0.0


def utilisation_imbalance(loads: ArrayLike, capacities: ArrayLike | None = None) -> float:
    """Return `max - mean` of `load / capacity` (Consistent Grouping, Section 3).

    Capacities are scaled to a mean of one, so that equal lanes give `imbalance`. A lane's load may
    be its queue length, as in the paper, or all that it was sent.

    >>> utilisation_imbalance([30, 10], capacities=[3, 1])
    0.0
    """
    weights = _loads(loads)
    used = weights / checked_capacities(capacities, weights.size)
    return float(used.max() - used.mean())


def block_size_imbalance(loads: ArrayLike) -> float:
    """Return Prompt's BSI, `max - mean` of the block or bucket sizes (Prompt Eq. 2 and 3)."""
    return imbalance(loads)


def block_cardinality_imbalance(cardinalities: ArrayLike) -> float:
    """Return Prompt's BCI, `max - mean` of the distinct keys per block (Prompt Eq. 4)."""
    return imbalance(cardinalities)


def cardinality_imbalance(cardinalities: ArrayLike) -> float:
    """Return `max - mean` of the distinct keys per lane (Holistic Eq. 5 and 6)."""
    return imbalance(cardinalities)


def key_split_ratio(hashes: ArrayLike, lanes: ArrayLike) -> float:
    """Return Prompt's KSR, key fragments over distinct keys: 1 means that no key is split (Eq. 5).

    >>> key_split_ratio(np.array([7, 7, 8], dtype=np.uint64), [0, 1, 1])
    1.5
    """
    return Pairs.of(hashes, lanes).replication


def micro_batch_imbalance(
    loads: ArrayLike,
    cardinalities: ArrayLike,
    split_ratio: float,
    shares: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3),
) -> float:
    """Return Prompt's MPI, the weighted sum of BSI, BCI and KSR (Eq. 6); `shares` add up to one.

    >>> micro_batch_imbalance([3, 1], [1, 1], 1.0, shares=(0.5, 0.25, 0.25))
    0.75
    """
    if len(shares) != 3 or min(shares) < 0 or abs(sum(shares) - 1) > 1e-9:
        raise InvalidArgument(f"shares must be three numbers >= 0 that add up to 1; got {shares!r}")
    parts = imbalance(loads), imbalance(cardinalities), split_ratio
    return float(sum(share * part for share, part in zip(shares, parts, strict=True)))


def aggregation_cost(hashes: ArrayLike, lanes: ArrayLike) -> int:
    """Return the number of partial results that must be merged (Holistic Eq. 2 and 4).

    It lies between the number of keys and `lanes` times that (Holistic, Proposition 1).

    >>> aggregation_cost(np.array([7, 7, 8], dtype=np.uint64), [0, 1, 1])
    3
    """
    return Pairs.of(hashes, lanes).replicas


def replicas(hashes: ArrayLike, lanes: ArrayLike) -> int:
    """Return the number of distinct (key, lane) pairs: the memory of Consistent Grouping."""
    return Pairs.of(hashes, lanes).replicas


def replication(hashes: ArrayLike, lanes: ArrayLike) -> float:
    """Return the (key, lane) pairs per key; 1 means that every key is on one lane."""
    return Pairs.of(hashes, lanes).replication


def lane_cardinalities(hashes: ArrayLike, lanes: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return the number of distinct keys on each of `n` lanes (Holistic Eq. 5).

    >>> lane_cardinalities(np.array([7, 7, 8], dtype=np.uint64), [0, 1, 1], 3).tolist()
    [1, 2, 0]
    """
    pairs = Pairs.of(hashes, lane_numbers(lanes, lane_count(n, "n")))
    return np.bincount(pairs.lane, minlength=n)


def hybrid_load(loads: ArrayLike, cardinalities: ArrayLike, p: float = 0.5) -> NDArray[np.float64]:
    """Return `p` times the scaled load plus `1 - p` times scaled cardinality (Holistic Eq. 7-9).

    Both are scaled to 0..1 between the least and the greatest lane. Where all lanes are alike the
    paper divides by zero; here every lane counts 0.

    >>> hybrid_load([10, 20, 30], [3, 1, 1], p=0.5).tolist()
    [0.5, 0.25, 0.5]
    """
    real("p", p, 0, 1)
    by_load, by_keys = _scaled(_loads(loads)), _scaled(_loads(cardinalities))
    if by_load.size != by_keys.size:
        raise InvalidArgument(
            f"loads and cardinalities must be one per lane; got {by_load.size} and {by_keys.size}"
        )
    return np.asarray(p * by_load + (1 - p) * by_keys)


def hybrid_imbalance(loads: ArrayLike, cardinalities: ArrayLike, p: float = 0.5) -> float:
    """Return `max - mean` of the hybrid loads (Holistic Eq. 10)."""
    return imbalance(hybrid_load(loads, cardinalities, p))


def moved_weight(
    hashes: ArrayLike, before: ArrayLike, after: ArrayLike, weights: ArrayLike | None = None
) -> float:
    """Return the share of the state that changes lane between two assignments, in 0..1.

    State belongs to a key and a lane: tuples of a split key that trade places move nothing. What
    a (key, lane) pair has under both assignments stays, the rest moves.

    >>> keys = np.array([7, 7, 8, 9], dtype=np.uint64)
    >>> moved_weight(keys, [0, 1, 1, 2], [1, 0, 1, 0])
    0.25
    """
    keys = key_hashes(hashes)
    if keys.size == 0:
        return 0.0
    state = np.ones(keys.size) if weights is None else np.asarray(weights, dtype=np.float64)
    here, there = lane_numbers(before), lane_numbers(after)
    if not keys.size == here.size == there.size == state.size:
        raise InvalidArgument(
            f"hashes, lanes before, lanes after and weights must be of one length; got "
            f"{keys.size}, {here.size}, {there.size} and {state.size}"
        )
    pairs = Pairs.of(np.concatenate((keys, keys)), np.concatenate((here, there)))
    had = np.bincount(pairs.ids[: keys.size], weights=state, minlength=pairs.replicas)
    has = np.bincount(pairs.ids[keys.size :], weights=state, minlength=pairs.replicas)
    total = state.sum()
    return float(1 - np.minimum(had, has).sum() / total) if total > 0 else 0.0


def lower_bound(
    weights: ArrayLike, lanes: int, *, total: float | None = None, splits_keys: bool = False
) -> float:
    """Return the least load that the heaviest lane can have: `max(total / lanes, heaviest key)`.

    `weights` are the keys' weights, `total` their sum unless more is known to exist. Where keys
    may be split, the heaviest key is no obstacle.

    >>> lower_bound([60, 30, 10], 4), lower_bound([60, 30, 10], 4, splits_keys=True)
    (60.0, 25.0)
    """
    keys = np.asarray(weights, dtype=np.float64)
    whole = float(keys.sum()) if total is None else float(total)
    level = whole / lane_count(lanes)
    return level if splits_keys or keys.size == 0 else max(level, float(keys.max()))


def least_replication(
    weights: ArrayLike, lanes: int, *, total: float | None = None, distinct: int | None = None
) -> float:
    """Return the least (key, lane) pairs per key that level lanes need.

    It is `sum(max(1, ceil(share x lanes))) / keys`: a key whose share exceeds a lane must be on
    several. Keys beyond `weights`, up to `distinct`, are taken to fit on one lane.

    >>> least_replication([60, 30, 10], 4)
    2.0
    """
    keys = np.asarray(weights, dtype=np.float64)
    whole = float(keys.sum()) if total is None else float(total)
    count = keys.size if distinct is None else max(int(distinct), keys.size)
    if count == 0 or whole <= 0:
        return 1.0
    # Multiplied before divided: whole counts then give exact whole quotients.
    parts = np.maximum(1.0, np.ceil(keys * lane_count(lanes) / whole))
    return float((parts.sum() + count - keys.size) / count)


@dataclass(frozen=True, eq=False)
class Costs:
    """All costs of one assignment of tuples to lanes; each is explained by its own function.

    `widest_key` is the most lanes that any key is on.
    """

    loads: NDArray[np.float64]
    cardinalities: NDArray[np.int64]
    tuples: int
    keys: int
    max_over_mean: float
    imbalance: float
    coefficient_of_variation: float
    cardinality_imbalance: float
    hybrid_imbalance: float
    utilisation_imbalance: float
    key_split_ratio: float
    micro_batch_imbalance: float
    aggregation_cost: int
    replication: float
    widest_key: int
    lower_bound: float
    least_replication: float

    def to_dict(self) -> dict[str, Any]:
        """Return the costs as JSON can hold them."""
        values = asdict(self)
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}


def costs(
    hashes: ArrayLike,
    lanes: ArrayLike,
    n: int,
    *,
    weights: ArrayLike | None = None,
    capacities: ArrayLike | None = None,
    p: float = 0.5,
) -> Costs:
    """Compute all costs of tuples with these key hashes on these lanes of `n`.

    >>> c = costs(np.array([7, 7, 8, 9], dtype=np.uint64), [0, 1, 1, 2], 4)
    >>> c.max_over_mean, c.replication, c.aggregation_cost, c.lower_bound
    (2.0, 1.3333333333333333, 4, 2.0)
    """
    n = lane_count(n, "n")
    where = lane_numbers(lanes, n)
    tuples = None if weights is None else np.asarray(weights, dtype=np.float64)
    if tuples is not None and tuples.shape != where.shape:
        raise InvalidArgument(f"weights must be one per tuple; got {tuples.size} for {where.size}")
    pairs = Pairs.of(hashes, where)
    loads = np.bincount(where, weights=tuples, minlength=n).astype(np.float64)
    cardinalities = np.bincount(pairs.lane, minlength=n)
    by_pair = np.bincount(pairs.ids, weights=tuples, minlength=pairs.replicas)
    by_key = np.bincount(pairs.key, weights=by_pair, minlength=pairs.keys)
    return Costs(
        loads=loads,
        cardinalities=cardinalities,
        tuples=int(where.size),
        keys=pairs.keys,
        max_over_mean=max_over_mean(loads, capacities),
        imbalance=imbalance(loads),
        coefficient_of_variation=coefficient_of_variation(loads),
        cardinality_imbalance=cardinality_imbalance(cardinalities),
        hybrid_imbalance=hybrid_imbalance(loads, cardinalities, p),
        utilisation_imbalance=utilisation_imbalance(loads, capacities),
        key_split_ratio=pairs.replication,
        micro_batch_imbalance=micro_batch_imbalance(loads, cardinalities, pairs.replication),
        aggregation_cost=pairs.replicas,
        replication=pairs.replication,
        widest_key=int(np.bincount(pairs.key).max(initial=0)),
        lower_bound=lower_bound(by_key, n),
        least_replication=least_replication(by_key, n),
    )


def _loads(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise InvalidArgument(
            f"give one number per lane, of at least one lane; got an array of shape {array.shape}"
        )
    return array


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros(values.size)
