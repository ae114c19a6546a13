"""Pages of a web crawl by host: few hosts have most pages, and pages of some hosts are slow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real, seed_number, whole
from trimtab.workloads.zipf import zipf_edges, zipf_ranks


@dataclass(frozen=True)
class WebPages:
    """Pages to fetch and to process, each with its host and its seconds.

    Parameters
    ----------
    hosts
        Number of hosts, 1 or more.
    z
        Exponent of the law of pages per host, 0 or more.
    tail
        Exponent of the Pareto law of a host's seconds per page, above 1: what a content management
        system takes to render is heavy-tailed, and alike for all pages of a host.
    seconds
        Mean seconds per page, above 0.

    Examples
    --------
    >>> hosts, seconds = WebPages(hosts=100).pages(1000, seed=1)
    >>> hosts.size, bool(seconds.min() > 0)
    (1000, True)
    """

    hosts: int = 5_000
    z: float = 0.8
    tail: float = 1.8
    seconds: float = 0.05

    def __post_init__(self) -> None:
        whole("hosts", self.hosts, 1)
        real("z", self.z, 0)
        real("tail", self.tail, 1, low_open=True)
        real("seconds", self.seconds, 0, low_open=True)

    def seconds_of_hosts(self, seed: int = 0) -> NDArray[np.float64]:
        """Return the seconds per page of each host."""
        random = np.random.default_rng([seed_number(seed), 1])
        draws = 1.0 - random.random(self.hosts)
        return np.asarray(self.seconds * (1 - 1 / self.tail) * draws ** (-1 / self.tail))

    def pages(self, count: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw pages: the host of each, and its seconds."""
        random = np.random.default_rng([seed_number(seed), 2])
        names = random.permutation(self.hosts)
        ranks = zipf_ranks(random.random(whole("count", count, 0)), zipf_edges(self.hosts, self.z))
        hosts = names[ranks]
        return hosts, self.seconds_of_hosts(seed)[hosts]
