"""What Spark notes of a micro-batch before it runs: the offsets of its sources and its watermark.

Spark writes `offsets/<batch>` of its checkpoint before the batch runs: a version, a line of facts,
then a line for each source. A batch that runs again has the same lines.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from trimtab.errors import CorruptState, NotThere
from trimtab.journal.store import Store


@dataclass(frozen=True)
class Offsets:
    """What Spark noted of a batch.

    Attributes
    ----------
    sources
        The sources' offsets at the end of the batch.
    watermark
        The watermark as the batch starts, in milliseconds.
    time
        When Spark planned the batch, in milliseconds.
    """

    sources: tuple[str, ...]
    watermark: int
    time: int = 0


def read_offsets(place: Store, batch: int) -> Offsets | None:
    """Read what Spark noted of a batch in the checkpoint; None if it noted nothing.

    A test's own batches have no note.
    """
    name = f"spark/offsets/{batch}"
    source = f"{place.uri}/{name}"
    try:
        version, *lines = place.read_file(name).decode().splitlines()
    except NotThere:
        return None
    except ValueError as error:
        raise CorruptState(f"{source} cannot be read: {error}") from error
    try:
        facts = json.loads(lines[0]) if lines else {}
        watermark, time = (
            int(facts.get(f"batch{word}Ms", 0)) for word in ("Watermark", "Timestamp")
        )
        return Offsets(tuple(lines[1:]), watermark, time)
    except (ValueError, AttributeError, TypeError) as error:
        raise CorruptState(
            f"{source} is not as Spark writes it, version {version!r}: {error}"
        ) from error


def took_something(place: Store) -> bool:
    """Tell whether the newest batch that Spark has noted took something from its sources.

    The last source does not count: in a query with a heartbeat that is the one that ticks.
    """
    folder = "spark/offsets/"
    found = (name.removeprefix(folder) for name in place.list(folder))
    number = max((int(name) for name in found if name.isdigit()), default=-1)
    newest, before = read_offsets(place, number), read_offsets(place, number - 1)
    if newest is None:
        return False
    now = newest.sources[:-1]
    # Spark notes a source that has given nothing yet by a dash.
    return now != (("-",) * len(now) if before is None else before.sources[:-1])
