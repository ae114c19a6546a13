from __future__ import annotations

import json

import pytest

from trimtab.errors import CorruptState
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.receive.manifest import BatchManifest, Block

HISTOGRAM = Histogram.from_counts({7: 3, 2**63 + 5: 1}, host_weights=[1, 3])
PLAN = Plan(2, {7: [(0, 0.5), (1, 0.5)]})
MANIFEST = BatchManifest(
    batch=4,
    blocks=(Block("west-00001-t.arrow", 4, 512, 99, "west", 1),),
    rows=4,
    histogram_json=HISTOGRAM.to_json(),
    plan_json=PLAN.to_json(),
    router=None,
    opened=1.5,
    frozen=2.25,
    released=2.5,
    arrivals={"west": (10, 15)},
    rejected=1,
)


def test_a_manifest_is_read_as_it_was_written() -> None:
    read = BatchManifest.from_json(MANIFEST.to_json())
    assert (read.plan, read.arrivals) == (PLAN, {"west": (10, 15)})
    assert read.histogram.to_json() == HISTOGRAM.to_json()
    assert (read.blocks, read.rows, read.rejected) == (MANIFEST.blocks, 4, 1)
    data = json.loads(MANIFEST.to_json())
    assert data["histogram"]["total"] == 4
    assert data["plan"]["lanes"] == 2


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"rows": 4', '"rows": 5', "checksum does not fit"),
        ("trimtab.log.batch", "trimtab.plan", "holds 'trimtab.plan'"),
        ('"version": 1', '"version": 2', "has version 2"),
        ("}", "", "no JSON"),
    ],
)
def test_a_damaged_manifest_is_refused_by_name(old: str, new: str, why: str) -> None:
    with pytest.raises(CorruptState, match=f"b4.json.*{why}"):
        BatchManifest.from_json(MANIFEST.to_json().replace(old, new), "b4.json")
