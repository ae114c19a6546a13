"""What a checkpoint holds of keyed state: for those who look at a stream from outside."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trimtab.errors import CorruptState, InvalidArgument
from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.keyed.entries import GONE, sorted_entries
from trimtab.journal.keyed.lane_file import open_lane_file
from trimtab.journal.keyed.manifest import Manifest
from trimtab.journal.keyed.sizes import entry_bytes
from trimtab.journal.store import Store


def manifest_of(store: Store, batch: int | None = None) -> Manifest:
    """Return the manifest of a batch in a checkpoint, by default of the newest that is done."""
    place = Checkpoint(store, {})
    done = place.batches_with_state()
    if not done:
        raise InvalidArgument(
            f"{place.uri!r} holds no batch that is done; give the checkpoint of a stream "
            "that has run"
        )
    number = done[-1] if batch is None else batch
    if number not in done:
        raise InvalidArgument(
            f"the state after batch {number!r} is not there any more, or not yet; "
            f"{place.uri!r} has those of {', '.join(map(str, done))}"
        )
    record = place.read_state(number)
    source = f"{place.uri}/state/{number}.json"
    try:
        found = (record or {})["operation"]["manifest"]
    except (KeyError, TypeError):
        raise InvalidArgument(
            f"{source} tells of a stream that keeps no state per key; there is nothing to show"
        ) from None
    try:
        return Manifest.from_record(found, source)
    except (KeyError, TypeError) as error:
        raise CorruptState(f"{source} is damaged: it has no usable {error}") from error


def largest_states(store: Store, manifest: Manifest, most: int) -> list[tuple[str, int, int]]:
    """Return the keys with the largest states as text, each with its lane and bytes, about."""
    found: list[tuple[str, int, int]] = []
    for number, lane in enumerate(manifest.lanes):
        layers = [open_lane_file(store, file).table for file in lane.files]
        if not layers:
            continue
        # Older files may have fewer columns; what they lack is null.
        table = sorted_entries([pa.concat_tables(layers, promote_options="default")]).table
        sizes = np.where(table["kind"].to_numpy() == GONE, 0, entry_bytes(table))
        largest = np.argsort(-sizes, kind="stable")[:most]
        keys = [name for name in table.schema.names if name.startswith("key:")]
        rows = table.select(keys).take(pa.array(largest)).to_pylist()
        found += [
            (
                ", ".join("null" if part is None else str(part) for part in row.values()),
                number,
                size,
            )
            for row, size in zip(rows, sizes[largest].tolist(), strict=True)
            if size
        ]
    return sorted(found, key=lambda one: (-one[2], one[0]))[:most]
