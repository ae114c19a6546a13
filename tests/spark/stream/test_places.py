"""A whole stream on every place: interrupted, started again, with Spark's results in the end.

The default file system does not exist, so that a path which lost its scheme on the way is noticed.

- Local disk: a path without a scheme.
- S3: our driver speaks S3 to a server on loopback; Spark, which has no client for S3 here, writes
  the same objects as files below it, by way of Hadoop's `ViewFileSystemOverloadScheme`.
- Hadoop: `viewfs`, which stock Hadoop has, over a directory. Python's tasks cannot open it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq
import pytest

from tests.journal.store.s3_server import BUCKET, s3_server
from tests.spark.stream.inputs import (
    MERGED,
    NOW,
    SCHEMA,
    native_results,
    sorted_rows,
    table,
    write_files,
)
from trimtab.journal import moments
from trimtab.report.log import read_run
from trimtab.report.terminal.follow import look

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

    from trimtab.spark import Startable

pytestmark = [pytest.mark.spark, pytest.mark.slow]

WINDOWS = {"window": "12 seconds", "slide": "4 seconds", "watermark": "12 seconds"}

FILES = 4
"""As many as the fixture of that name has; each is a batch."""

INTERRUPTED = [
    ("plan written", 0),
    ("panes written", 1),
    ("results written", 1),
    ("sink done", 2),
    ("state written", 2),
]
"""Where the query dies, one start after the other."""


class World(NamedTuple):
    """A place: its address, the directory behind it, and a session that knows it."""

    address: str
    disk: Path
    session: SparkSession

    @property
    def for_spark(self) -> str:
        """The address; to Spark a path without a scheme is one of the default file system."""
        return self.address if ":" in self.address else f"file://{self.address}"


PLACES = [
    # Nearly all other tests of streams are on a local disk.
    pytest.param("local disk", marks=pytest.mark.exhaustive),
    "S3",
    # What differs is the store, whose own tests are on all three.
    pytest.param("Hadoop's FileSystem", marks=pytest.mark.exhaustive),
]


@pytest.fixture(scope="module", params=PLACES)
def world(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    disk = tmp_path_factory.mktemp("disk")
    session = spark.newSession()
    session.conf.set("fs.defaultFS", "hdfs://no-such-host.invalid:9")
    if request.param == "local disk":
        yield World(str(disk), disk, session)
    elif request.param == "S3":
        with s3_server(disk) as shelf:
            settings = {
                "fs.s3a.endpoint": shelf.endpoint,
                "fs.s3a.endpoint.region": "us-east-1",
                "fs.s3a.access.key": "any",
                "fs.s3a.secret.key": "any",
                "fs.s3a.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
                "fs.s3a.impl.disable.cache": "true",
                "fs.viewfs.overload.scheme.target.file.impl": (
                    "org.apache.hadoop.fs.RawLocalFileSystem"
                ),
                f"fs.viewfs.mounttable.{BUCKET}.linkFallback": f"file://{disk}",
                # The other one asks for a second kind of client, which there is none of.
                "spark.sql.streaming.checkpointFileManagerClass": (
                    "org.apache.spark.sql.execution.streaming.checkpointing."
                    "FileSystemBasedCheckpointFileManager"
                ),
            }
            for name, value in settings.items():
                session.conf.set(name, value)
            yield World(f"s3a://{BUCKET}", disk, session)
    else:
        session.conf.set("fs.viewfs.mounttable.places.linkFallback", f"file://{disk}")
        session.conf.set("fs.viewfs.impl.disable.cache", "true")
        yield World("viewfs://places", disk, session)


@pytest.fixture(scope="module")
def expected(
    spark: SparkSession, files: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> list[Row]:
    scratch = tmp_path_factory.mktemp("native")
    return native_results(spark, files, scratch, aggregates=MERGED, **WINDOWS)


def begun(world: World, source: Path) -> Startable:
    import trimtab.spark as tt

    reader = world.session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    rows = reader.parquet(f"file://{source}")
    made = tt.stream(
        rows,
        "user",
        3,
        "dalton",
        f"{world.address}/ck",
        parameters={"cooperate": True},
    )
    return made.aggregate(time="ts", **WINDOWS, **{word: make() for word, make in MERGED.items()})


def run(world: World, source: Path) -> None:
    begun(world, source).start(f"{world.address}/out", trigger=NOW).awaitTermination()


def dying(moment: str, batch: int) -> Callable[[str, int], None]:
    def at(name: str, number: int) -> None:
        if (name, number) == (moment, batch):
            raise KeyError(f"interrupted at {moment!r}")

    return at


def test_interrupted_again_and_again_it_gives_sparks_results(
    world: World, expected: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import trimtab.spark as tt

    source = tmp_path / "in"
    write_files(source, FILES)
    for moment, batch in INTERRUPTED:
        with monkeypatch.context() as patched:
            patched.setattr(moments, "at", dying(moment, batch))
            with pytest.raises(Exception, match="interrupted at"):
                run(world, source)
    run(world, source)
    assert sorted_rows(world.session.read.parquet(f"{world.for_spark}/out")) == expected
    assert len(expected) > 50

    place = f"{world.address}/ck"
    events = tt.events(place, world.session)
    assert [event["batch"] for event in events] == list(range(FILES))
    assert begun(world, source).progress() == events[-1]
    assert read_run(place, session=world.session).numbers == list(range(FILES))
    assert "dalton" in str(look(place, session=world.session).title)

    # Everything is where it was asked for, and nothing is left of what was interrupted.
    assert {path.name for path in world.disk.iterdir()} <= {"ck", "out"}
    kept = {path.parent.name for path in (world.disk / "ck/panes").glob("*/*.parquet")}
    manifests = {path.name for path in (world.disk / "ck/manifests/panes").iterdir()}
    assert {f"{name}.json" for name in kept} == manifests
    assert (world.disk / f"ck/spark/offsets/{FILES - 1}").is_file()

    # One more batch, whose windows need panes that are no longer as they were.
    pq.write_table(table(FILES), source / f"{FILES:03d}.parquet")
    pane = next((world.disk / "ck/panes" / max(kept)).glob("*.parquet"))
    aside = tmp_path / pane.name
    shutil.move(pane, aside)
    world.session.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    with pytest.raises(Exception, match=rf"CorruptState.*panes/{max(kept)}/{pane.name} is missing"):
        run(world, source)
    shutil.copy(aside, pane)
    extra = pane.with_name("part-of-others.parquet")
    shutil.copy(aside, extra)
    with pytest.raises(
        Exception, match=r"CorruptState.*part-of-others\.parquet was not written by"
    ):
        run(world, source)
    extra.unlink()
    run(world, source)
    assert len(tt.events(place, world.session)) == FILES + 1
