"""What is known of the keys: the heavy ones with their weights, the total, the distinct count."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hash, key_hashes, one_of, whole
from trimtab._format import Format, write_whole
from trimtab._key_arrays import host_of
from trimtab.errors import CorruptState, InvalidArgument

UNITS = ("rows", "bytes", "seconds")
NAMES = ("plain", "hash")
_FORMAT = Format("trimtab.histogram", 1, "a histogram")


@dataclass(frozen=True, eq=False)
class Histogram:
    """An immutable summary of a stream's keys, heaviest first.

    Attributes
    ----------
    hashes, weights
        The known keys and their weights, by falling weight; equal weights by rising hash.
    total
        Weight of all keys, known or not; at least the sum of `weights`.
    distinct
        Number of distinct keys, known or not; at least the number of known keys.
    unit
        What a weight is: rows, bytes or seconds.
    labels
        Readable names of known keys, by hash.
    host_weights
        Weight of ALL keys by `key hash mod len(host_weights)`, where it was measured. With it a
        planner knows the load of the tail exactly instead of assuming it even.

    Examples
    --------
    >>> h = Histogram.from_counts({11: 60, 12: 30, 13: 10})
    >>> h.total, h.distinct, h.hashes.tolist(), h.shares.tolist()
    (100.0, 3, [11, 12, 13], [0.6, 0.3, 0.1])
    >>> h.top(1).total, h.top(1).hashes.tolist()
    (100.0, [11])
    """

    hashes: NDArray[np.uint64]
    weights: NDArray[np.float64]
    total: float
    distinct: int
    unit: str = "rows"
    labels: Mapping[int, str] = field(default_factory=dict)
    host_weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        hashes = key_hashes(self.hashes)
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != hashes.shape:
            raise InvalidArgument(
                f"a histogram needs one weight per key; got {hashes.size} keys and "
                f"{weights.size} weights"
            )
        if weights.size and (not np.isfinite(weights).all() or weights.min() < 0):
            raise InvalidArgument("weights must be finite and >= 0; got one that is not")
        order = np.lexsort((hashes, -weights))
        hashes, weights = hashes[order], weights[order]
        # Sorting beats np.unique, whose hash table is slow for many keys.
        rising = np.sort(hashes)
        if (rising[1:] == rising[:-1]).any():
            raise InvalidArgument("a key is twice in the histogram; add its weights up first")
        one_of("unit", self.unit, UNITS)
        known = float(weights.sum())
        if not np.isfinite(self.total):
            raise InvalidArgument(f"total must be a finite number; got {self.total!r}")
        hashes.flags.writeable = False
        weights.flags.writeable = False
        object.__setattr__(self, "hashes", hashes)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "total", max(float(self.total), known))
        object.__setattr__(self, "distinct", max(int(self.distinct), hashes.size))
        if self.host_weights is not None:
            hosts = np.array(self.host_weights, dtype=np.float64)
            if hosts.ndim != 1 or hosts.size == 0 or not (np.isfinite(hosts) & (hosts >= 0)).all():
                raise InvalidArgument(
                    "host_weights must be a non-empty list of finite numbers >= 0, one per host"
                )
            hosts.flags.writeable = False
            object.__setattr__(self, "host_weights", hosts)

    @classmethod
    def from_hashes(
        cls,
        hashes: ArrayLike,
        top: int | None = None,
        *,
        weights: ArrayLike | None = None,
        hosts: int | None = None,
        unit: str = "rows",
    ) -> Self:
        """Count the keys of `hashes` exactly; keep the `top` heaviest, or all of them."""
        keys = key_hashes(hashes)
        row_weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        if row_weights is not None and row_weights.shape != keys.shape:
            raise InvalidArgument(
                f"weights must be one number per hash; got {row_weights.size} for {keys.size}"
            )
        unique, inverse = np.unique(keys, return_inverse=True)
        counts = np.bincount(inverse, weights=row_weights, minlength=unique.size)
        host_weights = None
        if hosts is not None:
            whole("hosts", hosts, 1)
            host_weights = np.bincount(host_of(keys, hosts), row_weights, hosts).astype(float)
        made = cls(
            unique,
            counts.astype(np.float64),
            float(counts.sum()),
            unique.size,
            unit,
            host_weights=host_weights,
        )
        return made if top is None else made.top(top)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[int, float] | tuple[ArrayLike, ArrayLike],
        *,
        total: float | None = None,
        distinct: int | None = None,
        unit: str = "rows",
        labels: Mapping[int, str] | None = None,
        host_weights: ArrayLike | None = None,
    ) -> Self:
        """Take weights that were counted elsewhere: a mapping, or (hashes, weights)."""
        if isinstance(counts, Mapping):
            hashes: ArrayLike = np.array([key_hash(key) for key in counts], dtype=np.uint64)
            weights: ArrayLike = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
        else:
            hashes, weights = counts
        keys = key_hashes(hashes)
        given = np.asarray(weights, dtype=np.float64)
        return cls(
            keys,
            given,
            float(given.sum()) if total is None else float(total),
            keys.size if distinct is None else int(distinct),
            unit,
            {key_hash(key): name for key, name in (labels or {}).items()},
            None if host_weights is None else np.asarray(host_weights, dtype=np.float64),
        )

    @classmethod
    def from_sketch(cls, sketch: Any, top: int | None = None) -> Self:
        """Take what a sketch has counted: anything with `items()`, `total` and `distinct`."""
        hashes, weights = sketch.items()
        made = cls.from_counts(
            (hashes, weights), total=float(sketch.total), distinct=int(sketch.distinct)
        )
        return made if top is None else made.top(top)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Any],
        *,
        hash: str = "hash",
        weight: str = "weight",
        label: str | None = None,
        total: float | None = None,
        distinct: int | None = None,
        unit: str = "rows",
    ) -> Self:
        """Take rows that Spark has collected, or dicts, one per key; hashes are signed longs."""
        taken = list(rows)
        hashes = np.array([row[hash] for row in taken], dtype=np.int64).view(np.uint64)
        weights = np.array([row[weight] for row in taken], dtype=np.float64)
        labels = {}
        if label is not None:
            labels = {int(h): str(row[label]) for h, row in zip(hashes, taken, strict=True)}
        return cls.from_counts(
            (hashes, weights), total=total, distinct=distinct, unit=unit, labels=labels
        )

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of the total that each known key holds."""
        return np.asarray(self.weights / self.total) if self.total > 0 else self.weights.copy()

    @property
    def tail_weight(self) -> float:
        """Weight of all keys that are not known one by one."""
        return max(0.0, self.total - float(self.weights.sum()))

    def __len__(self) -> int:
        return int(self.hashes.size)

    def label(self, key: int) -> str:
        """Return the readable name of a key, or its hash in hexadecimal."""
        key = key_hash(key)
        return self.labels.get(key, f"{key:#018x}")

    def named(self, names: str) -> Self:
        """Return the histogram with its keys named "plain", as they are, or only by their "hash".

        Keys can be personal data. What prints or writes a histogram with `names="hash"` shows none.

        >>> known = Histogram.from_counts({11: 60}, labels={11: "ann"})
        >>> known.named("plain").label(11), known.named("hash").label(11)
        ('ann', '0x000000000000000b')
        """
        labels = self.labels if one_of("names", names, NAMES) == "plain" else {}
        return replace(self, labels=labels)

    def top(self, k: int) -> Self:
        """Keep the `k` heaviest known keys; the rest joins the tail."""
        whole("k", k, 0)
        kept = self.hashes[:k]
        names = {key: self.labels[key] for key in kept.tolist() if key in self.labels}
        return type(self)(
            kept,
            self.weights[:k],
            self.total,
            self.distinct,
            self.unit,
            names,
            self.host_weights,
        )

    def scaled(self, factor: float) -> Self:
        """Multiply every weight by `factor` (> 0); used to let old histograms fade."""
        hosts = self.host_weights
        return type(self)(
            self.hashes,
            self.weights * factor,
            self.total * factor,
            self.distinct,
            self.unit,
            self.labels,
            None if hosts is None else hosts * factor,
        )

    def merge(self, *others: Self) -> Self:
        """Add histograms of disjoint parts of a stream up.

        Known weights and totals add exactly. The distinct count of a union cannot be told from two
        counts: the result is the largest lower bound, which is exact where all keys are known.
        Host weights survive where all parts measured the same number of hosts.
        """
        parts: Sequence[Self] = (self, *others)
        units = {part.unit for part in parts}
        if len(units) > 1:
            raise InvalidArgument(f"cannot add {' and '.join(sorted(units))}; convert one first")
        keys, inverse = np.unique(
            np.concatenate([part.hashes for part in parts]), return_inverse=True
        )
        weights = np.bincount(
            inverse, weights=np.concatenate([part.weights for part in parts]), minlength=keys.size
        )
        labels: dict[int, str] = {}
        for part in parts:
            labels.update(part.labels)
        measured = [part.host_weights for part in parts if part.host_weights is not None]
        hosts = None
        if len(measured) == len(parts) and len({m.size for m in measured}) == 1:
            hosts = np.sum(measured, axis=0)
        return type(self)(
            keys,
            np.asarray(weights, dtype=np.float64),
            sum(part.total for part in parts),
            max(keys.size, *(part.distinct for part in parts)),
            self.unit,
            labels,
            hosts,
        )

    def to_json(self) -> str:
        """Return the histogram as versioned JSON; hashes are written as decimal strings."""
        return json.dumps(
            {
                **_FORMAT.head(),
                "unit": self.unit,
                "total": self.total,
                "distinct": self.distinct,
                "hashes": [str(key) for key in self.hashes.tolist()],
                "weights": self.weights.tolist(),
                "labels": {str(key): name for key, name in self.labels.items()},
                "host_weights": None if self.host_weights is None else self.host_weights.tolist(),
            }
        )

    @classmethod
    def from_json(cls, text: str, source: str = "histogram") -> Self:
        """Read what `to_json` wrote; `source` names the file in errors."""
        try:
            data = json.loads(text)
            _FORMAT.check(data, source)
            hosts = data["host_weights"]
            return cls(
                np.array([int(key) for key in data["hashes"]], dtype=np.uint64),
                np.array(data["weights"], dtype=np.float64),
                data["total"],
                data["distinct"],
                data["unit"],
                {int(key): name for key, name in data["labels"].items()},
                None if hosts is None else np.array(hosts, dtype=np.float64),
            )
        except CorruptState:
            raise
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise CorruptState(f"{source} is damaged: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write the histogram to a file, in place of what it held."""
        write_whole(path, self.to_json())

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise InvalidArgument(
                f"no histogram can be read from {str(path)!r}: {error.strerror}; write one with "
                "its save(path)"
            ) from error
        return cls.from_json(text, str(path))
