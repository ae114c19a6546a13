"""The plan: an immutable routing table from keys to lanes, decided once for a whole batch."""

from __future__ import annotations

import hashlib
import json
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hash, key_hashes, lane_count
from trimtab._look_up import LookUp, look_up, route
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.histogram import Histogram

_FORMAT = "trimtab.plan"
_VERSION = 1

CUT_SCALE = 1 << 32
"""Shares become whole cut points on this scale, so that the JVM and numpy cut alike."""

Fragments = Sequence[tuple[int, float]]
"""Where one key goes: (lane, share) pairs whose shares add up to one."""


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

    __slots__ = (
        "__dict__",
        "cuts",
        "hosts",
        "keys",
        "lane_of",
        "lanes",
        "maker",
        "shares",
        "starts",
    )

    def __init__(
        self,
        lanes: int,
        keys: Mapping[int, int | Fragments] | None = None,
        hosts: ArrayLike | None = None,
        maker: str = "",
    ) -> None:
        heavy, fragments = [], []
        for key, target in (keys or {}).items():
            heavy.append(key_hash(key))
            fragments.append(_checked_fragments(target))
        starts = np.zeros(len(heavy) + 1, dtype=np.int32)
        np.cumsum([len(f) for f in fragments], out=starts[1:])
        flat = [pair for f in fragments for pair in f]
        self._set(
            lanes,
            np.array(heavy, dtype=np.uint64),
            starts,
            np.array([lane for lane, _ in flat], dtype=np.int64),
            np.array([share for _, share in flat], dtype=np.float64),
            hosts,
            maker,
        )

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
        made._set(lanes, keys, starts, lane_of, shares, hosts, maker)
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

    def _set(
        self,
        lanes: int,
        keys: NDArray[np.uint64],
        starts: NDArray[np.int32],
        lane_of: NDArray[Any],
        shares: NDArray[np.float64],
        hosts: ArrayLike | None,
        maker: str,
    ) -> None:
        self.lanes = lane_count(lanes)
        self.maker = str(maker)
        host_lanes = np.arange(self.lanes) if hosts is None else np.asarray(hosts)
        keys, lane_of = key_hashes(keys, "keys"), np.asarray(lane_of)
        counts = np.diff(starts)
        self._check(keys, starts, counts, lane_of, shares, host_lanes)
        order = np.argsort(keys)
        keys = keys[order]
        if (keys[1:] == keys[:-1]).any():
            raise InvalidArgument("a key is twice in the plan; give its fragments together")
        if shares.size == keys.size:
            # Every key is whole: planners make such plans many times a second.
            new_starts, flat = np.arange(keys.size + 1), order
        else:
            new_starts = np.zeros(keys.size + 1, dtype=np.int64)
            np.cumsum(counts[order], out=new_starts[1:])
            flat = _gather_ranges(starts[:-1][order], counts[order])
        self.keys = _frozen(keys, np.uint64)
        self.starts = _frozen(new_starts, np.int32)
        self.lane_of = _frozen(lane_of[flat], np.int32)
        self.shares = _frozen(np.asarray(shares)[flat], np.float64)
        self.hosts = _frozen(host_lanes, np.int32)
        self.cuts = _frozen(_cut_points(self.starts, self.shares), np.uint64)

    def _check(
        self,
        keys: NDArray[np.uint64],
        starts: NDArray[np.int32],
        counts: NDArray[np.int32],
        lane_of: NDArray[Any],
        shares: NDArray[np.float64],
        hosts: NDArray[Any],
    ) -> None:
        if hosts.ndim != 1 or hosts.size == 0 or hosts.dtype.kind not in "iu":
            raise InvalidArgument("hosts must be a non-empty list of lanes")
        for what, values in (("a host", hosts), ("a key", lane_of)):
            if values.size and (values.min() < 0 or values.max() >= self.lanes):
                raise InvalidArgument(
                    f"{what} is sent to a lane outside 0..{self.lanes - 1}: "
                    f"{values.min()}..{values.max()}"
                )
        if counts.shape != keys.shape or lane_of.shape != shares.shape or shares.ndim != 1:
            raise InvalidArgument(
                f"a plan needs one start per key and one share per lane; got {counts.size} starts "
                f"for {keys.size} keys, {shares.size} shares for {lane_of.size} lanes"
            )
        if keys.size == 0:
            if shares.size:
                raise InvalidArgument(f"{shares.size} fragments belong to no key of the plan")
            return
        if counts.min() < 1 or starts[0] != 0 or starts[-1] != shares.size:
            raise InvalidArgument("every key of a plan needs at least one fragment")
        # Written so that a share that is not a number fails the test as well.
        if not (shares.min() > 0 and shares.max() <= 1):
            raise InvalidArgument("shares must lie in (0, 1]; got one that does not")
        running = np.concatenate(([0.0], np.cumsum(shares)))
        off = np.abs(np.diff(running[starts]) - 1.0)
        if off.max() > 1e-6:
            at = int(np.argmax(off))
            total = shares[starts[at] : starts[at + 1]].sum()
            raise InvalidArgument(f"the shares of a key must add up to 1; got {total:.6g}")

    @property
    def splits_keys(self) -> bool:
        """Whether any key is on more than one lane."""
        return bool(self.lane_of.size > self.keys.size)

    def __len__(self) -> int:
        return int(self.keys.size)

    def fragments(self, key: int) -> list[tuple[int, float]]:
        """Return (lane, share) of one key, heavy or not."""
        key = key_hash(key)
        at = int(np.searchsorted(self.keys, np.uint64(key)))
        if at < self.keys.size and int(self.keys[at]) == key:
            part = slice(self.starts[at], self.starts[at + 1])
            return list(zip(self.lane_of[part].tolist(), self.shares[part].tolist(), strict=True))
        return [(int(self.hosts[key % self.hosts.size]), 1.0)]

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
        result = np.zeros((keys.size, self.lanes))
        at = np.searchsorted(self.keys, keys)
        at_safe = np.minimum(at, max(self.keys.size - 1, 0))
        heavy = (self.keys[at_safe] == keys) if self.keys.size else np.zeros(keys.size, bool)
        light = np.flatnonzero(~heavy)
        hosts = (keys[light] % np.uint64(self.hosts.size)).astype(np.int64)
        result[light, self.hosts[hosts]] = 1.0
        rows = np.flatnonzero(heavy)
        counts = (self.starts[at[rows] + 1] - self.starts[at[rows]]).astype(np.int64)
        flat = _gather_ranges(self.starts[at[rows]], counts)
        np.add.at(result, (np.repeat(rows, counts), self.lane_of[flat]), self.shares[flat])
        return result

    def loads(self, histogram: Histogram) -> NDArray[np.float64]:
        """Return the weight that each lane gets, known keys exactly, the tail by its hosts."""
        loads = np.zeros(self.lanes)
        at = np.searchsorted(self.keys, histogram.hashes)
        at_safe = np.minimum(at, max(self.keys.size - 1, 0))
        known = histogram.hashes
        heavy = (self.keys[at_safe] == known) if self.keys.size else np.zeros(known.size, bool)
        light_hosts = (known[~heavy] % np.uint64(self.hosts.size)).astype(np.int64)
        np.add.at(loads, self.hosts[light_hosts], histogram.weights[~heavy])
        counts = (self.starts[at[heavy] + 1] - self.starts[at[heavy]]).astype(np.int64)
        flat = _gather_ranges(self.starts[at[heavy]], counts)
        weights = np.repeat(histogram.weights[heavy], counts) * self.shares[flat]
        np.add.at(loads, self.lane_of[flat], weights)
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
        split = int((np.diff(self.starts) > 1).sum())
        lines = [
            f"plan {self.maker or 'by hand'}: {self.lanes} lanes, {len(self)} keys placed one by "
            f"one ({split} split), {self.hosts.size} hosts for the rest"
        ]
        order: Iterable[int] = range(len(self))
        if histogram is not None:
            loads = self.loads(histogram)
            mean = loads.mean()
            lines.append(
                f"expected max/mean {loads.max() / mean:.3f}" if mean > 0 else "no weight yet"
            )
            known = {int(key): i for i, key in enumerate(histogram.hashes)}
            order = sorted(order, key=lambda i: known.get(int(self.keys[i]), len(known)))
        for shown, i in enumerate(order):
            if shown == most:
                lines.append(f"  ... and {len(self) - most} more keys")
                break
            key = int(self.keys[i])
            name = histogram.label(key) if histogram is not None else f"{key:#018x}"
            parts = ", ".join(f"{lane} ({share:.0%})" for lane, share in self.fragments(key))
            lines.append(f"  {name} -> lane {parts}")
        return "\n".join(lines)

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
        head = {"format": _FORMAT, "version": _VERSION, "maker": self.maker}
        return json.dumps({**head, "fingerprint": self.fingerprint, **self._content()})

    @classmethod
    def from_json(cls, text: str, source: str = "plan") -> Self:
        """Read what `to_json` wrote; `source` names the file in errors."""
        try:
            data = json.loads(text)
            if data["format"] != _FORMAT:
                raise CorruptState(f"{source} holds {data['format']!r}, not a plan")
            if data["version"] > _VERSION:
                raise CorruptState(
                    f"{source} has version {data['version']}; this Trimtab reads up to "
                    f"{_VERSION}; upgrade Trimtab"
                )
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

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or hasattr(self, "cuts"):
            raise AttributeError(f"a plan never changes; make a new one to set {name!r}")
        object.__setattr__(self, name, value)


def tail_by_host(histogram: Histogram, hosts: int) -> NDArray[np.float64]:
    """Return the weight of the unknown keys on each of `hosts` hosts.

    Measured host weights are used where their number is a multiple of `hosts`, or divides it;
    otherwise the tail is taken to be even.
    """
    measured = histogram.host_weights
    if measured is not None and measured.size % hosts == 0:
        tail = measured.copy()
        at = (histogram.hashes % np.uint64(measured.size)).astype(np.int64)
        np.subtract.at(tail, at, histogram.weights)
        return np.asarray(np.maximum(tail, 0.0).reshape(-1, hosts).sum(axis=0))
    if measured is not None and hosts % measured.size == 0:
        few = tail_by_host(histogram, measured.size)
        return np.tile(few / (hosts // measured.size), hosts // measured.size)
    return np.full(hosts, histogram.tail_weight / hosts)


def _checked_fragments(target: int | Fragments) -> list[tuple[int, float]]:
    if isinstance(target, (int, np.integer)):
        return [(int(target), 1.0)]
    try:
        return [(operator.index(lane), float(share)) for lane, share in target]
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"a key of a plan goes to a lane, or to a list of (lane, share); got {target!r}"
        ) from None


def _frozen(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


def _gather_ranges(starts: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the indices of all ranges start, start + 1, ... one after the other."""
    total = int(counts.sum())
    offsets = np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(starts.astype(np.int64), counts) + np.arange(total) - offsets)


def _cut_points(starts: NDArray[np.int32], shares: NDArray[np.float64]) -> NDArray[np.uint64]:
    if shares.size == starts.size - 1:
        return np.full(shares.size, CUT_SCALE, dtype=np.uint64)
    running = np.cumsum(shares)
    before = np.repeat(running[starts[:-1]] - shares[starts[:-1]], np.diff(starts))
    cuts = np.rint((running - before) * CUT_SCALE).astype(np.uint64)
    cuts[starts[1:] - 1] = CUT_SCALE
    return cuts
