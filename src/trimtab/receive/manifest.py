"""The manifest of a released batch: its blocks, what is known of its keys, and where they are."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

from trimtab._format import Format
from trimtab.errors import CorruptState
from trimtab.histogram import Histogram
from trimtab.plan import Plan

_FORMAT = Format("trimtab.log.batch", 1, "the manifest of a batch")
_HISTOGRAM, _PLAN, _CHECKSUM = ', "histogram": ', ', "plan": ', ', "crc32": '
"""What stands between the parts of a manifest: two of them are long, and are not always read."""


@dataclass(frozen=True)
class Block:
    """One block of a batch: an Arrow file that one map task reads.

    Attributes
    ----------
    file
        Its name in the folder of the batch.
    rows, bytes
        How many rows it holds, and how many bytes the file has.
    crc32
        Checksum of the file.
    receiver, block
        Who wrote it, and its number among the blocks of the batch.
    """

    file: str
    rows: int
    bytes: int
    crc32: int
    receiver: str
    block: int


@dataclass(frozen=True)
class BatchManifest:
    """All that is known of a released batch.

    Attributes
    ----------
    batch
        Its number.
    blocks
        Its blocks, by rising number. A block without rows has no file and is left out.
    rows
        Rows of all blocks.
    histogram_json, plan_json
        What `histogram` and `plan` are read from.
    router
        Name of the router that placed the rows one by one; None where a plan did.
    opened, frozen, released
        Unix seconds: when its first record came, when its last, and when it could be read. They are
        for people: a clock that jumps changes nothing else.
    arrivals
        By receiver: sequence numbers of the records in it, the first, and one past the last. They
        count what was received, so that rejected records and empty lines have numbers, too.
    rejected
        How many records did not parse; they are in the receiver's own folder.
    """

    batch: int
    blocks: tuple[Block, ...]
    rows: int
    histogram_json: str
    plan_json: str | None
    router: str | None
    opened: float
    frozen: float
    released: float
    arrivals: Mapping[str, tuple[int, int]]
    rejected: int = 0

    @cached_property
    def histogram(self) -> Histogram:
        """The heaviest keys of the batch with their rows, and the rows of the others by host."""
        return Histogram.from_json(self.histogram_json, f"the histogram of batch {self.batch}")

    @cached_property
    def plan(self) -> Plan | None:
        """Where the plan put the heaviest keys, and all that it split; None where a router decided.

        Light keys are whole, each in some block, where it fitted.
        """
        if self.plan_json is None:
            return None
        return Plan.from_json(self.plan_json, f"the plan of batch {self.batch}")

    def to_json(self) -> str:
        """Return the manifest as versioned JSON, which ends with a checksum of what precedes it."""
        head = {
            **_FORMAT.head(),
            "batch": self.batch,
            "blocks": [asdict(block) for block in self.blocks],
            "rows": self.rows,
            "rejected": self.rejected,
            "router": self.router,
            "opened": self.opened,
            "frozen": self.frozen,
            "released": self.released,
            "arrivals": {name: list(span) for name, span in self.arrivals.items()},
        }
        # Both are JSON already, and may be long: they are put in as they are.
        body = (
            f"{json.dumps(head)[:-1]}{_HISTOGRAM}{self.histogram_json}"
            f"{_PLAN}{self.plan_json or 'null'}"
        )
        return f"{body}{_CHECKSUM}{zlib.crc32(body.encode())}}}"

    @classmethod
    def from_json(cls, text: str, source: str = "manifest") -> Self:
        """Read what `to_json` wrote; `source` names the file in errors."""
        body, _, checksum = text.rpartition(_CHECKSUM)
        head, _, rest = body.partition(_HISTOGRAM)
        histogram, _, plan = rest.rpartition(_PLAN)
        try:
            # A text that is not ours is read as a whole, to say what it is.
            data = json.loads(f"{head}}}" if plan else text)
        except ValueError as error:
            raise CorruptState(f"{source} is damaged: it is no JSON ({error})") from error
        _FORMAT.check(data, source)
        if checksum != f"{zlib.crc32(body.encode())}}}":
            raise CorruptState(f"{source} is damaged: its checksum does not fit its content")
        try:
            return cls(
                batch=data["batch"],
                blocks=tuple(Block(**block) for block in data["blocks"]),
                rows=data["rows"],
                histogram_json=histogram,
                plan_json=None if plan == "null" else plan,
                router=data["router"],
                opened=data["opened"],
                frozen=data["frozen"],
                released=data["released"],
                arrivals={name: _span(span) for name, span in data["arrivals"].items()},
                rejected=data["rejected"],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CorruptState(f"{source} is damaged: {error}") from error


def _span(given: Any) -> tuple[int, int]:
    first, end = given
    return int(first), int(end)
