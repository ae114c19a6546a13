"""The plan: an immutable routing table from keys to lanes, decided once for a whole batch."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab import _plan_words
from trimtab._checks import key_hash, key_hashes, lane_count
from trimtab._format import Format
from trimtab._key_arrays import find_keys, host_of
from trimtab._look_up import LookUp, look_up, route
from trimtab._plan_arrays import CUT_SCALE, Flat, Fragments, flattened, gather_ranges, plan_arrays
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.histogram import Histogram

_FORMAT = Format("trimtab.plan", 1, "a plan")


class Pieces(NamedTuple):
    """Keys in pieces: of each piece the position of its key, its lane, and its share of the key."""

    key: NDArray[np.int64]
    lane: NDArray[np.int32]
    share: NDArray[np.float64]


class Plan:
    """Heavy keys to fragments, all other keys to `hosts[key hash mod len(hosts)]`.

    A plan never changes; equality and hash go by content, `maker` left out. Shares are met within
    the noise of a fair hash of the rows.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    keys
        Heavy keys: a mapping from key hash to a lane, or to fragments (lane, share).
    hosts
        Lane of each host, for the tail; by default one host per lane, which is plain hashing.
    maker
        Name of the planner, for people.

    Examples
    --------
    >>> p = Plan(4, {7: 2, 9: [(0, 0.5), (1, 0.5)]}, hosts=[0, 1, 2, 3])
    >>> p.splits_keys, p.route(np.array([7, 8, 5], dtype=np.uint64)).tolist()
    (True, [2, 0, 1])
    >>> Plan.from_json(p.to_json()) == p
    True
    """

    lanes: int
    """Number of destinations."""
    keys: NDArray[np.uint64]
    """The heavy keys, rising."""
    starts: NDArray[np.int32]
    """The fragments of key i stand at `starts[i]:starts[i + 1]`."""
    lane_of: NDArray[np.int32]
    """Lane of each fragment."""
    shares: NDArray[np.float64]
    """Share of its key that each fragment has."""
    cuts: NDArray[np.uint64]
    """Where each fragment ends on a scale of `CUT_SCALE`, on which its key begins at 0."""
    hosts: NDArray[np.int32]
    """Lane of each host."""
    maker: str
    """Name of the planner."""

    def __init__(
        self,
        lanes: int,
        keys: Mapping[int, int | Fragments] | None = None,
        hosts: ArrayLike | None = None,
        maker: str = "",
    ) -> None:
        self._hold(lanes, flattened(keys or {}), hosts, maker)

    @classmethod
    def from_arrays(
        cls,
        lanes: int,
        keys: NDArray[np.uint64],
        starts: NDArray[np.int32],
        lane_of: NDArray[np.int32],
        shares: NDArray[np.float64],
        hosts: ArrayLike | None = None,
        maker: str = "",
    ) -> Self:
        """Make a plan from flat arrays: fragments of key i stand at `starts[i]:starts[i + 1]`."""
        made = cls.__new__(cls)
        made._hold(lanes, Flat(keys, starts, lane_of, shares), hosts, maker)
        return made

    @classmethod
    def whole_keys(
        cls,
        lanes: int,
        keys: NDArray[np.uint64],
        lane_of: NDArray[np.int32],
        hosts: ArrayLike | None = None,
        maker: str = "",
    ) -> Self:
        """Make a plan that splits no key: key i goes to `lane_of[i]`."""
        starts = np.arange(len(keys) + 1, dtype=np.int32)
        return cls.from_arrays(lanes, keys, starts, lane_of, np.ones(len(keys)), hosts, maker)

    def _hold(self, lanes: int, given: Flat, hosts: ArrayLike | None, maker: str) -> None:
        # Past `__setattr__`, as a frozen dataclass does it: only constructors come here.
        vars(self).update(plan_arrays(lanes, given, hosts)._asdict(), maker=str(maker))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a plan never changes; make a new one to set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a plan never changes; {name!r} cannot be taken out of it")

    @property
    def splits_keys(self) -> bool:
        """Whether any key is on more than one lane."""
        return bool(self.lane_of.size > self.keys.size)

    def __len__(self) -> int:
        return int(self.keys.size)

    def find(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the position of each key in `keys`, and whether it is there, as a heavy key.

        The position of a key that is not there means nothing.
        """
        return find_keys(self.keys, hashes)

    def pieces(self, hashes: NDArray[np.uint64]) -> Pieces:
        """Return where each key is: first the light keys, one piece each, then the heavy ones.

        >>> p = Plan(4, {7: [(2, 0.25), (3, 0.75)]})
        >>> [part.tolist() for part in p.pieces(np.array([7, 9], dtype=np.uint64))]
        [[1, 0, 0], [1, 2, 3], [1.0, 0.25, 0.75]]
        """
        light, heavy = self._light_and_heavy(hashes)
        return Pieces(
            np.concatenate((np.flatnonzero(light), heavy.key)),
            np.concatenate((self._host_lanes(hashes[light]), heavy.lane)),
            np.concatenate((np.ones(int(light.sum())), heavy.share)),
        )

    def _light_and_heavy(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], Pieces]:
        """Return which keys are light, and the pieces of the others."""
        at, is_heavy = self.find(hashes)
        heavy = np.flatnonzero(is_heavy)
        first = self.starts[at[heavy]]
        counts = self.starts[at[heavy] + 1] - first
        fragment = gather_ranges(first, counts)
        pieces = Pieces(np.repeat(heavy, counts), self.lane_of[fragment], self.shares[fragment])
        return ~is_heavy, pieces

    def _host_lanes(self, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        return self.hosts[host_of(hashes, self.hosts.size)]

    def fragments(self, key: int) -> list[tuple[int, float]]:
        """Return (lane, share) of one key, heavy or not."""
        key = key_hash(key)
        (at,), (is_heavy,) = self.find(np.array([key], dtype=np.uint64))
        if not is_heavy:
            return [(int(self.hosts[key % self.hosts.size]), 1.0)]
        part = slice(self.starts[at], self.starts[at + 1])
        return list(zip(self.lane_of[part].tolist(), self.shares[part].tolist(), strict=True))

    def all_fragments(self) -> dict[int, list[tuple[int, float]]]:
        """Return (lane, share) of every heavy key: what a plan can be made from again."""
        pairs = list(zip(self.lane_of.tolist(), self.shares.tolist(), strict=True))
        starts = self.starts.tolist()
        return {key: pairs[starts[i] : starts[i + 1]] for i, key in enumerate(self.keys.tolist())}

    @cached_property
    def _look_up(self) -> LookUp:
        return look_up(self.keys, self.starts, self.lane_of, self.cuts)

    def route(self, hashes: ArrayLike, row_hashes: ArrayLike | None = None) -> NDArray[np.int32]:
        """Return the lane of each tuple.

        The fragment of a split key follows from the upper half of the row's hash, so that a row
        that is routed again goes to the same lane. Without row hashes the position in `hashes`
        stands in for the row.
        """
        keys = key_hashes(hashes)
        out = np.empty(keys.size, dtype=np.int32)
        rows = np.empty(0, dtype=np.uint64)
        if row_hashes is not None:
            rows = key_hashes(row_hashes, "row_hashes")
            if rows.size != keys.size:
                raise InvalidArgument(
                    f"row_hashes must be one per hash; got {rows.size} for {keys.size}"
                )
        route(keys, rows, out, self._look_up, self.lane_of, self.cuts, self.hosts)
        return out

    def lane_shares(self, hashes: ArrayLike) -> NDArray[np.float64]:
        """Return, for each key, its share on each lane: an array of keys x lanes."""
        keys = key_hashes(hashes)
        light, heavy = self._light_and_heavy(keys)
        shares = np.zeros((keys.size, self.lanes))
        shares[np.flatnonzero(light), self._host_lanes(keys[light])] = 1.0
        np.add.at(shares, (heavy.key, heavy.lane), heavy.share)
        return shares

    def loads(self, histogram: Histogram) -> NDArray[np.float64]:
        """Return the weight that each lane gets, known keys exactly, the tail by its hosts."""
        light, heavy = self._light_and_heavy(histogram.hashes)
        loads = np.zeros(self.lanes)
        np.add.at(loads, self._host_lanes(histogram.hashes[light]), histogram.weights[light])
        np.add.at(loads, heavy.lane, histogram.weights[heavy.key] * heavy.share)
        np.add.at(loads, self.hosts, tail_by_host(histogram, self.hosts.size))
        return loads

    def moved(self, other: Plan, histogram: Histogram) -> float:
        """Return the share of the weight that is on another lane under `other`, in 0..1.

        Known keys and all keys that either plan names are compared one by one, the tail by hosts.
        """
        if histogram.total <= 0:
            return 0.0
        lanes = max(self.lanes, other.lanes)
        moved = 0.0
        # Keys in slabs, so that keys x lanes stays small whatever the histogram's size.
        for start in range(0, len(histogram), 4096):
            keys = histogram.hashes[start : start + 4096]
            here, there = np.zeros((keys.size, lanes)), np.zeros((keys.size, lanes))
            here[:, : self.lanes] = self.lane_shares(keys)
            there[:, : other.lanes] = other.lane_shares(keys)
            gone = np.maximum(here - there, 0.0).sum(axis=1)
            moved += float(histogram.weights[start : start + 4096] @ gone)
        hosts = math.lcm(self.hosts.size, other.hosts.size)
        if hosts > 1 << 20:
            # Host counts with no common measure: the two tails are independent placements.
            same = sum(
                float((self.hosts == lane).mean() * (other.hosts == lane).mean())
                for lane in range(lanes)
            )
            moved += histogram.tail_weight * (1.0 - same)
        else:
            index = np.arange(hosts)
            differs = self.hosts[index % self.hosts.size] != other.hosts[index % other.hosts.size]
            moved += float(tail_by_host(histogram, hosts)[differs].sum())
        return min(1.0, max(0.0, moved / histogram.total))

    def resized(self, lanes: int) -> Plan:
        """Return the plan on another number of lanes; what stood on a lane now gone wraps round."""
        lanes = lane_count(lanes)
        if lanes == self.lanes:
            return self
        key_of = np.repeat(np.arange(len(self)), np.diff(self.starts))
        # Fragments of one key that meet on one lane become one.
        place, at = np.unique(key_of * lanes + self.lane_of % lanes, return_inverse=True)
        starts = np.searchsorted(place, np.arange(len(self) + 1) * lanes).astype(np.int32)
        shares = np.minimum(np.bincount(at, self.shares, place.size), 1.0)
        lane_of = (place % lanes).astype(np.int32)
        return Plan.from_arrays(
            lanes, self.keys, starts, lane_of, shares, self.hosts % lanes, self.maker
        )

    def by_falling_load(self, histogram: Histogram) -> Plan:
        """Renumber the lanes so that lane 0 is the heaviest: engines start tasks in lane order."""
        order = np.argsort(-self.loads(histogram), kind="stable")
        rank = np.empty(self.lanes, dtype=np.int32)
        rank[order] = np.arange(self.lanes, dtype=np.int32)
        return Plan.from_arrays(
            self.lanes,
            self.keys,
            self.starts,
            rank[self.lane_of],
            self.shares,
            rank[self.hosts],
            self.maker,
        )

    def explain(self, histogram: Histogram | None = None, most: int = 10) -> str:
        """Say in a few lines where the heavy keys go and how level the lanes come out."""
        return _plan_words.explain(self, histogram, most)

    def _content(self) -> dict[str, Any]:
        return {
            "lanes": self.lanes,
            "keys": [str(key) for key in self.keys.tolist()],
            "starts": self.starts.tolist(),
            "lane_of": self.lane_of.tolist(),
            "shares": self.shares.tolist(),
            "hosts": self.hosts.tolist(),
        }

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of the content: equal plans have equal fingerprints, on every machine."""
        text = json.dumps(self._content(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """Return the plan as versioned JSON; key hashes are decimal strings."""
        head = {**_FORMAT.head(), "maker": self.maker, "fingerprint": self.fingerprint}
        return json.dumps({**head, **self._content()})

    @classmethod
    def from_json(cls, text: str, source: str = "plan") -> Self:
        """Read what `to_json` wrote; `source` names the file in errors."""
        try:
            data = json.loads(text)
            _FORMAT.check(data, source)
            made = cls.from_arrays(
                data["lanes"],
                np.array([int(key) for key in data["keys"]], dtype=np.uint64),
                np.array(data["starts"], dtype=np.int32),
                np.array(data["lane_of"], dtype=np.int32),
                np.array(data["shares"], dtype=np.float64),
                np.array(data["hosts"], dtype=np.int32),
                data["maker"],
            )
            if made.fingerprint != data["fingerprint"]:
                raise CorruptState(f"{source} is damaged: its fingerprint does not fit its content")
        except CorruptState:
            raise
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise CorruptState(f"{source} is damaged: {error}") from error
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return int(self.fingerprint[:15], 16)

    def __repr__(self) -> str:
        return (
            f"Plan(lanes={self.lanes}, keys={len(self)}, hosts={self.hosts.size}, "
            f"maker={self.maker!r})"
        )


def tail_by_host(histogram: Histogram, hosts: int) -> NDArray[np.float64]:
    """Return the weight of the unknown keys on each of `hosts` hosts.

    Measured host weights are used where their number is a multiple of `hosts`, or divides it;
    otherwise the tail is taken to be even.
    """
    measured = histogram.host_weights
    if measured is not None and measured.size % hosts == 0:
        tail = measured.copy()
        np.subtract.at(tail, host_of(histogram.hashes, measured.size), histogram.weights)
        return np.asarray(np.maximum(tail, 0.0).reshape(-1, hosts).sum(axis=0))
    if measured is not None and hosts % measured.size == 0:
        few = tail_by_host(histogram, measured.size)
        return np.tile(few / (hosts // measured.size), hosts // measured.size)
    return np.full(hosts, histogram.tail_weight / hosts)


__all__ = ["CUT_SCALE", "Fragments", "Pieces", "Plan", "tail_by_host"]
