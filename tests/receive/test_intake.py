from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.receive.logs import lines, log, numbers, rows
from trimtab import hash_keys
from trimtab.errors import InvalidArgument, StoreFailed, TakenOver, UnknownName
from trimtab.receive import intake as module
from trimtab.receive.arrivals import Chunk
from trimtab.receive.intake import Receiver
from trimtab.receive.log import Log
from trimtab.workloads import zipf_ids


@pytest.mark.parametrize("planner", ["prompt", "trim", "kip", "cam", "hash", "dalton", "shuffle"])
def test_any_partitioner_lays_blocks_out_and_every_row_is_in_one(
    tmp_path: Path, planner: str
) -> None:
    place = log(tmp_path, planner=planner)
    ids = zipf_ids(4000, 200, 1.3, seed=1)
    with Receiver(place, seed=5) as receiver:
        for batch in range(2):
            for start in range(batch * 2000, batch * 2000 + 2000, 500):
                receiver.take([lines(ids[start : start + 500], start)])
            assert receiver.flush() == place.manifest(batch)
        assert receiver.flush() is None
    assert numbers(place) == list(range(4000))
    manifest = place.manifest(1)
    assert manifest.arrivals == {"receiver": (2000, 4000)}
    sizes = [block.rows for block in manifest.blocks]
    if manifest.plan is None:
        assert manifest.router == planner
    else:
        assert (manifest.plan.lanes, manifest.router) == (4, None)
        # Rows are where the plan says that their keys are.
        for block in manifest.blocks:
            keys = {row["k"] for row in rows(place, 1)[block.block]}
            shares = manifest.plan.lane_shares(hash_keys(np.array(sorted(keys))))
            assert (shares[:, block.block] > 0).all()
    if planner in ("prompt", "shuffle"):
        assert max(sizes) < 1.15 * 500


def test_blocks_are_level_in_rows_and_keys_and_manifests_stay_short(tmp_path: Path) -> None:
    """More keys than a manifest tells of: 10,000 rows of some 4,700 keys in 4 blocks."""
    place = log(tmp_path)
    ids = zipf_ids(10_000, 20_000, 0.8, seed=1)
    with Receiver(place) as receiver:
        receiver.offer(pa.table({"k": ids, "x": np.arange(ids.size)}))
        manifest = receiver.flush()
    assert manifest is not None
    assert manifest.plan is not None
    assert len(manifest.histogram) == 4 * 256
    assert 4 * 256 <= len(manifest.plan) <= 4 * 256 + 4
    assert numbers(place) == list(range(10_000))
    sizes = [block.rows for block in manifest.blocks]
    keys = [len({row["k"] for row in block}) for block in rows(place, 0)]
    assert max(sizes) <= 2505
    assert max(keys) - min(keys) <= 5
    for block in manifest.blocks:
        hashes = hash_keys(place.read_block(0, block)["k"])
        _, named = manifest.plan.find(hashes)
        assert (manifest.plan.lane_shares(hashes[named])[:, block.block] > 0).all()


def test_a_receiver_that_starts_again_takes_up_what_is_in_no_batch(tmp_path: Path) -> None:
    place = log(tmp_path)
    with Receiver(place) as first:
        first.take([lines(range(5), client="ann")])
        first.flush()
        first.take([lines(range(3), 5, client="ann"), lines(range(2), 8)])
        first.freeze()
        first.take([lines(range(1), 10, file="f", read=9)])
    with Receiver(place, name="receiver") as second:
        assert (second.durable("ann"), second.durable("bob")) == (8, 0)
        assert second.arrivals.memory.files == {"f": 9}
        second.flush()
    assert numbers(place) == list(range(11))
    assert place.manifest(1).arrivals == {"receiver": (5, 11)}


def test_a_committed_batch_is_forgotten_and_the_receiver_knows_where_it_was(
    tmp_path: Path,
) -> None:
    place = log(tmp_path)
    with Receiver(place) as first:
        first.take([lines(range(5))])
        first.flush()
        assert first.waiting() == 1
    place.commit(0)
    place.forget_committed()
    with Receiver(place) as second:
        assert second.waiting() == 0
        second.take([lines(range(2), 5)])
        second.flush()
    assert place.manifest(1).arrivals == {"receiver": (5, 7)}
    assert len(list((place.path / "receivers/receiver/arrivals").iterdir())) == 1


def test_what_is_no_record_goes_to_a_side_file_once(tmp_path: Path) -> None:
    place = log(tmp_path)
    bad = Chunk("json", b'{"k": 1, "x": 0}\n{"k": "\xff"}\n\n{"k": "a"}\n', 4)
    long = Chunk("too long", b'{"k": "aaa', 1, reason="it is too long")
    with Receiver(place) as receiver:
        receiver.take([Chunk("json", b"x\n", 1)])
        assert receiver.flush() is None, "a batch without rows is not worth one"
        receiver.take([bad, long])
        assert (receiver.received, receiver.rejected) == (6, 4)
    with Receiver(place) as receiver:
        manifest = receiver.flush()
    assert manifest is not None
    assert (manifest.rows, manifest.rejected, manifest.arrivals["receiver"]) == (1, 4, (0, 6))
    (path,) = (place.path / "receivers/receiver/rejected").iterdir()
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each["record"] for each in told] == [0, 2, 4, 5]
    assert [each.get("text") for each in told] == ["x", None, '{"k": "a"}', '{"k": "aaa']
    assert told[1]["base64"] == "eyJrIjogIv8ifQ=="
    assert told[3]["reason"] == "it is too long"


def test_rejected_records_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REJECTED_BYTES", 10)
    place = log(tmp_path)
    with Receiver(place) as receiver:
        receiver.take([Chunk("json", b"0123456789\n", 1)])
        manifest = receiver.flush()
    assert manifest is not None
    assert (manifest.rows, manifest.blocks, manifest.rejected) == (0, (), 1)


def test_the_newer_of_two_receivers_of_one_name_goes_on_alone(tmp_path: Path) -> None:
    place = log(tmp_path)
    old = Receiver(place)
    old.take([lines(range(2))])
    old.freeze()
    with Receiver(place) as new:
        with pytest.raises(TakenOver, match="took epoch 2"):
            old.take([lines(range(9), 100)])
        with pytest.raises(TakenOver):
            old.release()
        new.take([lines(range(2), 2)])
        new.flush()
    old.close()
    assert numbers(place) == [0, 1, 2, 3]


def test_one_that_comes_between_the_check_and_the_manifest_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = log(tmp_path)
    old = Receiver(place)
    old.take([lines(range(2))])
    with Receiver(place) as new:
        monkeypatch.setattr(old._epoch.__class__, "check", lambda self: None)
        new.take([lines([1], 2)])
        old.flush()
        with pytest.raises(TakenOver, match="another receiver called 'receiver'"):
            new.flush()
    old.close()
    with Receiver(place) as newest:
        newest.flush()
    assert numbers(place) == [0, 1, 2]


def test_receivers_of_other_names_write_batches_of_their_own(tmp_path: Path) -> None:
    place = log(tmp_path)
    with Receiver(place, "west") as west, Receiver(place, "east") as east:
        west.take([lines(range(2))])
        east.take([lines(range(3), 2)])
        west.freeze()
        release = place.release

        def rushed(manifest: Any) -> None:
            object.__setattr__(place, "release", release)
            east.flush()
            release(manifest)

        object.__setattr__(place, "release", rushed)
        west.release()
    assert numbers(place) == list(range(5))
    assert place.manifest(1).arrivals == {"east": (3, 3), "west": (0, 2)}
    with Receiver(place, "east") as east:
        assert east.flush() is None


def test_a_full_disk_keeps_the_batch_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = log(tmp_path)
    with Receiver(place) as receiver:
        receiver.take([lines(range(2))])
        with monkeypatch.context() as broken:
            broken.setattr(Log, "write_blocks", lambda *_: (_ for _ in ()).throw(OSError(28, "!")))
            with pytest.raises(StoreFailed, match="batch 0 cannot be written"):
                receiver.flush()
        receiver.take([lines(range(2), 2)])
        receiver.flush()
        receiver.flush()
    assert numbers(place) == [0, 1, 2, 3]
    assert place.manifest(0).rows == 2


def test_what_makes_no_receiver_is_refused_at_the_call(tmp_path: Path) -> None:
    for name in ("", "../up", "a b", ".hidden", "x" * 65, 3):
        with pytest.raises(InvalidArgument, match="the name of a receiver"):
            Receiver(log(tmp_path), name)  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="unknown partitioner 'promt'"):
        Receiver(log(tmp_path, planner="promt"))


def test_only_so_many_clients_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_CLIENTS", 2)
    with Receiver(log(tmp_path)) as receiver:
        receiver.take([lines([1], client="a"), lines([1], client="b")])
        receiver.take([lines([1], client="a")])
        with pytest.raises(InvalidArgument, match="2 clients have names already"):
            receiver.take([lines([1], client="c")])
        assert receiver.durable("a") == 2
