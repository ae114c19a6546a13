"""Records made from drawn keys, so that a receiver can be tried out without any data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from trimtab._checks import one_of, real, whole
from trimtab.errors import InvalidArgument, UnknownName
from trimtab.receive.records import FORMATS
from trimtab.workloads import laws
from trimtab.workloads.clicks import Clicks
from trimtab.workloads.cluster_trace import TaskEvents
from trimtab.workloads.rates import bursty_rate, constant_rate, sinusoidal_rate
from trimtab.workloads.taxi import TaxiTrips
from trimtab.workloads.tpch import TpcH
from trimtab.workloads.web import WebPages
from trimtab.workloads.zipf import drifting_zipf, zipf_ids

SHAPES = ("constant", "sinusoidal", "bursty")

SLOTS_PER_SECOND = 20
"""Records of as long are sent at once: short against any interval, long against a system call."""

_CLICKS_PER_BATCH = 10_000


def _clicks(count: int, keys: int, z: float, seed: int) -> NDArray[Any]:
    clicks = Clicks(pages=keys, z=z, seed=seed)
    batches = clicks.batches(-(-count // _CLICKS_PER_BATCH), _CLICKS_PER_BATCH)
    return clicks.names(np.concatenate(list(batches))[:count])


def _of_law(make: Callable[[], laws.Law]) -> Callable[[int, int, float, int], NDArray[Any]]:
    return lambda count, keys, z, seed: make().ids(count, seed)


WORKLOADS: dict[str, Callable[[int, int, float, int], NDArray[Any]]] = {
    "zipf": lambda count, keys, z, seed: zipf_ids(count, keys, z, seed),
    "drift": lambda count, keys, z, seed: drifting_zipf(count, keys, z, 100_000, seed),
    "clicks": _clicks,
    "wikipedia": _of_law(laws.wikipedia_pages),
    "tweets": _of_law(laws.tweet_words),
    "hashtags": _of_law(laws.hashtags),
    "election": _of_law(laws.election_hashtags),
    "post-codes": _of_law(laws.post_codes),
    "music": _of_law(laws.music_tags),
    "followers": _of_law(laws.followers),
    "taxi": lambda count, keys, z, seed: TaxiTrips().trips(count, seed)["pickup"],
    "web": lambda count, keys, z, seed: WebPages().pages(count, seed)[0],
    "tasks": lambda count, keys, z, seed: TaskEvents().events(count, seed)["job"],
    "tpch": lambda count, keys, z, seed: TpcH(seed=seed).orders()["custkey"][:count],
}
"""Streams of keys by name, from how many tuples, how many keys, exponent and seed; those that have
a law of their own do not heed keys and exponent."""


def drawn_keys(
    workload: str, count: int, keys: int = 100_000, z: float = 1.0, seed: int = 0
) -> NDArray[Any]:
    """Draw the keys of a stream.

    Parameters
    ----------
    workload
        A name of `WORKLOADS`.
    count
        How many tuples, 1 or more.
    keys, z
        Number of distinct keys and Zipf's exponent, for `zipf`, `drift` and `clicks`.
    seed
        Same seed, same keys.
    """
    if workload not in WORKLOADS:
        raise UnknownName("workload", workload, WORKLOADS)
    return WORKLOADS[workload](whole("count", count, 1), keys, z, seed)


class DrawnRecords:
    r"""Records with the keys of a stream, numbered: `{"k": <key>, "x": <number>}`, or CSV.

    Record n is always the same, so that a sender can go on at any of them. Keys begin anew when
    there are no more.

    Parameters
    ----------
    keys
        The keys, in order: whole numbers or texts.
    format
        "json" or "csv".
    size
        About how many bytes a record has; a third field `p` makes up for what is missing.

    Examples
    --------
    >>> DrawnRecords(np.array([7, 8, 9])).lines(2, 2)
    b'{"k": 9, "x": 2}\n{"k": 7, "x": 3}\n'
    >>> DrawnRecords(np.array(["a"]), "csv", size=8).lines(0, 1)
    b'a,0,...\n'
    """

    def __init__(self, keys: NDArray[Any], format: str = "json", size: int = 0) -> None:
        if len(keys) == 0:
            raise InvalidArgument("a stream needs keys; got none")
        self.format = one_of("format", format, FORMATS)
        self.size = whole("size", size, 0, 1 << 20)
        texts = pa.array(keys).cast(pa.string())
        if format == "json" and keys.dtype.kind not in "iu":
            texts = pyarrow.compute.binary_join_element_wise('"', texts, '"', "")
        self._keys = texts
        self._padding = ""
        short = size - len(self.lines(0, 1)) - (len(', "p": ""') if format == "json" else 1)
        if short > 0:
            self._padding = f', "p": "{"." * short}"' if format == "json" else "," + "." * short

    def lines(self, first: int, count: int) -> bytes:
        """Return so many records, from the first one on."""
        numbers = np.arange(first, first + count)
        keys = self._keys.take(pa.array(numbers % len(self._keys)))
        texts = pa.array(numbers).cast(pa.string())
        if self.format == "json":
            parts = ['{"k": ', keys, ', "x": ', texts, self._padding + "}\n", ""]
        else:
            parts = [keys, ",", texts, self._padding + "\n", ""]
        made = pyarrow.compute.binary_join_element_wise(*parts)
        offsets = np.frombuffer(made.buffers()[1], np.int32, count + 1)
        return bytes(made.buffers()[2].to_pybytes()[: offsets[-1]])


def slots(shape: str, rate: float, seconds: float, period: float, seed: int) -> NDArray[np.int64]:
    """Return how many records are due by the end of each slot.

    Parameters
    ----------
    shape
        "constant", "sinusoidal" (up and down by half) or "bursty" (a tenth of the slots is five
        times as high as the others).
    rate
        Records per second, in the mean.
    seconds
        How long.
    period
        Seconds from crest to crest of a sinusoidal rate.
    seed
        Where bursts are.
    """
    count = max(1, round(real("seconds", seconds, 0, low_open=True) * SLOTS_PER_SECOND))
    # Tuples per slot are whole numbers, and slots are short: rates are drawn a thousandfold.
    each = real("rate", rate, 0, low_open=True) / SLOTS_PER_SECOND * 1000
    if one_of("shape", shape, SHAPES) == "constant":
        tuples = constant_rate(count, each)
    elif shape == "sinusoidal":
        tuples = sinusoidal_rate(count, each, period=period * SLOTS_PER_SECOND)
    else:
        tuples = bursty_rate(count, each, seed=seed)
    return np.cumsum(tuples) // 1000
