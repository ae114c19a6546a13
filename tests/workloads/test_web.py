from __future__ import annotations

import numpy as np
import pytest

from trimtab.errors import InvalidArgument
from trimtab.workloads.web import WebPages
from trimtab.workloads.zipf import zipf_shares


def test_pages_give_back_the_parameters() -> None:
    law = WebPages(hosts=20_000, z=0.8, tail=2.5, seconds=0.05)
    hosts, seconds = law.pages(200_000, seed=1)
    counts = np.sort(np.bincount(hosts, minlength=20_000))[::-1]
    assert counts[:5].sum() / 200_000 == pytest.approx(zipf_shares(20_000, 0.8)[:5].sum(), rel=0.03)
    by_host = law.seconds_of_hosts(seed=1)
    assert by_host.mean() == pytest.approx(0.05, rel=0.03)
    # The estimate of a Pareto exponent from all hosts.
    assert 1 / np.log(by_host / by_host.min()).mean() == pytest.approx(2.5, rel=0.02)
    assert (seconds == by_host[hosts]).all()


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidArgument, match="tail"):
        WebPages(tail=1.0)
