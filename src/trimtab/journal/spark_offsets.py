"""What Spark notes of a micro-batch before it runs: the offsets of its sources and its watermark.

Spark writes `offsets/<batch>` of its checkpoint before the batch runs: a version, a line of facts,
then a line for each source. A batch that runs again has the same lines.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import CorruptState


@dataclass(frozen=True)
class Offsets:
    """The sources' offsets at the end of a batch, and the watermark in milliseconds."""

    sources: tuple[str, ...]
    watermark: int


def read_offsets(spark_checkpoint: Path, batch: int) -> Offsets | None:
    """Read what Spark noted of a batch; None if it noted nothing, as a test's own batches."""
    path = spark_checkpoint / "offsets" / str(batch)
    try:
        version, *lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise CorruptState(f"{path} cannot be read: {error}") from error
    try:
        facts = json.loads(lines[0]) if lines else {}
        return Offsets(tuple(lines[1:]), int(facts.get("batchWatermarkMs", 0)))
    except (ValueError, AttributeError, TypeError) as error:
        raise CorruptState(
            f"{path} is not as Spark writes it, version {version!r}: {error}"
        ) from error
