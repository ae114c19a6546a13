"""What the driver says of a folder that tasks have written, and how it is held to it."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.journal.store.places import Place
from trimtab.errors import CorruptState, TakenOver
from trimtab.journal import manifest
from trimtab.journal.manifest import Manifest, manifests, remove_manifest
from trimtab.journal.store import Store

FOLDER = "panes/0000000007-1"


def parquet(rows: int, columns: int = 1) -> bytes:
    made = io.BytesIO()
    pq.write_table(pa.table({f"c{n}": range(rows) for n in range(columns)}), made)
    return made.getvalue()


def written(store: Store) -> Manifest:
    """Write a folder as Spark does, and its manifest."""
    for name, rows in (("part-0", 3), ("part-1", 0)):
        store.write_file(f"{FOLDER}/{name}.parquet", parquet(rows))
    store.write_file(f"{FOLDER}/_SUCCESS", b"")
    made = Manifest.of(store, FOLDER)
    made.write(store)
    return made


def test_it_names_the_files_with_their_rows_and_sizes(place: Place) -> None:
    made = written(place.open())
    sizes = {name: len(parquet(rows)) for name, rows in (("part-0", 3), ("part-1", 0))}
    assert made.files == {
        "part-0.parquet": (3, sizes["part-0"]),
        "part-1.parquet": (0, sizes["part-1"]),
    }
    assert made.rows == 3
    store = place.open()
    again = Manifest.read(store, FOLDER)
    assert again == made
    # The sizes may be those of more folders than this one.
    again.check({**store.sizes("panes"), f"{FOLDER}0/part-0.parquet": 5}, store.uri)
    with pytest.raises(TakenOver, match="was written by another driver"):
        made.write(store)
    assert manifests(store) == [FOLDER]
    remove_manifest(store, FOLDER)
    with pytest.raises(CorruptState, match=rf"manifests/{FOLDER}\.json is missing"):
        Manifest.read(store, FOLDER)


def test_a_file_that_is_missing_or_extra_or_short_is_refused_by_name(place: Place) -> None:
    store = place.open()
    made = written(store)

    def refusal() -> str:
        with pytest.raises(CorruptState) as found:
            made.check(store.sizes("panes"), store.uri)
        return str(found.value)

    store.write_file(f"{FOLDER}/part-2.parquet", parquet(1))
    assert f"{FOLDER}/part-2.parquet was not written by the batch" in refusal()
    store.remove_file(f"{FOLDER}/part-2.parquet")
    store.remove_file(f"{FOLDER}/part-0.parquet")
    assert f"{FOLDER}/part-0.parquet is missing: a batch wrote it with 3 rows" in refusal()
    store.write_file(f"{FOLDER}/part-0.parquet", parquet(3)[:-1])
    assert f"{FOLDER}/part-0.parquet has {len(parquet(3)) - 1} bytes, but was" in refusal()
    store.remove_folder(FOLDER)
    assert "is missing" in refusal()


def test_a_file_that_is_not_whole_when_it_is_listed_is_refused(place: Place) -> None:
    store = place.open()
    store.write_file(f"{FOLDER}/part-0.parquet", parquet(3)[:-1])
    with pytest.raises(CorruptState, match=r"part-0\.parquet is no whole Parquet file"):
        Manifest.of(store, FOLDER)


def test_files_that_say_more_of_themselves_than_their_end_holds_are_counted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "_END", 100)
    store = place.open()
    store.write_file(f"{FOLDER}/part-0.parquet", parquet(5, columns=20))
    assert Manifest.of(store, FOLDER).rows == 5


def test_a_manifest_of_another_folder_is_refused(place: Place) -> None:
    store = place.open()
    Manifest("panes/1-1", {}).write(store)
    text = store.read("manifests/panes/1-1.json")
    store.create("manifests/panes/2-1.json", text)
    with pytest.raises(CorruptState, match="the manifest of 'panes/2-1': files of the checkpoint"):
        Manifest.read(store, "panes/2-1")
