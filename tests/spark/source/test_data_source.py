"""The class of the data source travels whole, and says in one sentence where Trimtab is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import LongType, StringType, StructType, TimestampType

from tests.receive.written_logs import rows_of, write_batch, write_log
from trimtab.spark.shipping import MISSING
from trimtab.spark.source.data_source import received_source

SCHEMA = StructType().add("k", StringType()).add("x", LongType()).add("ts", TimestampType())

WITHOUT_TRIMTAB = """
import sys, pathlib
sys.path = [p for p in sys.path if not pathlib.Path(p, 'trimtab').exists()]
from pyspark import cloudpickle
sent = cloudpickle.loads(pathlib.Path(sys.argv[1]).read_bytes())
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    place = write_log(tmp_path / "log")
    write_batch(place, 0)
    return place


def test_readers_that_have_travelled_read_the_same_blocks(log: Path) -> None:
    source = cloudpickle.loads(cloudpickle.dumps(received_source()))({"path": str(log)})
    assert (source.name(), source.schema()) == ("trimtab", "k string, x long, ts timestamp")
    stream = source.streamReader(SCHEMA)
    start = stream.initialOffset()
    parts = stream.partitions(start, stream.latestOffset(start, None))
    # The reader that plans is sent to those that read, while it has the log open.
    there = cloudpickle.loads(cloudpickle.dumps(stream))
    found = [x for part in parts for rows in there.read(part) for x in rows["x"].to_pylist()]
    assert sorted(found) == rows_of(0)["x"].to_pylist()
    rows = source.reader(SCHEMA)
    assert sum(batch.num_rows for part in rows.partitions() for batch in rows.read(part)) == 400
    assert list(rows.read(InputPartition(None))) == []


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param("sent({'path': 'log'}).schema()", id="where the query is planned"),
        pytest.param("sent({}).streamReader(None).read(None)", id="where blocks are read"),
    ],
)
def test_where_trimtab_is_missing_there_is_one_sentence(ask: str, tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    sent.write_bytes(cloudpickle.dumps(received_source()))
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_TRIMTAB + ask, str(sent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stderr.strip().splitlines()[-1] == f"RuntimeError: {MISSING}"
