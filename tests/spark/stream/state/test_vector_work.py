from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from trimtab.spark.stream.state.grouped_rows import SortedRows
from trimtab.spark.stream.state.vector_work import whole_keys


@pytest.mark.parametrize("seed", range(3))
def test_batches_are_joined_so_that_no_key_is_cut(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.integers(0, 12, 60))
    ends = np.sort(rng.choice(np.arange(1, 60), 9, replace=False))
    batches = [
        SortedRows(pa.record_batch({"k": pa.array(part)}), part, part)
        for part in np.split(keys, ends)
    ]
    found = list(whole_keys(iter(batches)))
    assert np.concatenate([batch.hashes for batch in found]).tolist() == keys.tolist()
    heads = np.concatenate([batch.hashes[batch.starts] for batch in found])
    assert heads.tolist() == np.unique(keys).tolist()
