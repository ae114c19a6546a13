from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.receive.logs import log, numbers
from trimtab.errors import InvalidArgument
from trimtab.receive import Receiver


def test_records_of_this_process_are_dicts_or_tables(tmp_path: Path) -> None:
    place = log(tmp_path)
    with Receiver(place) as receiver:
        assert receiver.offer({"k": i, "x": i, "z": "?"} for i in range(3)) == 3
        assert receiver.offer(pa.table({"x": pa.array([3], pa.int32())})) == 1
        assert receiver.offer(pa.record_batch({"x": [4], "k": [1]})) == 1
        assert receiver.offer([]) == 0
        with pytest.raises(InvalidArgument, match="with values for k int64, x int64"):
            receiver.offer([{"k": "a"}])
        with pytest.raises(InvalidArgument, match="records are dicts"):
            receiver.offer([1])  # type: ignore[list-item]
        with pytest.raises(InvalidArgument, match="column 'k' is string, the log has int64"):
            receiver.offer(pa.table({"k": ["a"]}))
    with Receiver(place) as receiver:
        receiver.flush()
    assert numbers(place) == [0, 1, 2, 3, 4]
