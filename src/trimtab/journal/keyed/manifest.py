"""The manifest of a batch: which files are the state of its keys, lane by lane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from trimtab._format import Format
from trimtab.journal.keyed.lane_file import LaneFile

_FORMAT = Format("trimtab.keyed", 1, "a manifest of keyed state")


@dataclass(frozen=True)
class LaneState:
    """A lane's files, the newest first, and the number of its keys."""

    files: tuple[LaneFile, ...] = ()
    keys: int = 0

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Manifest:
    """The state of all keys after a batch.

    Attributes
    ----------
    lanes
        The state of each lane.
    plan
        Fingerprint of the plan by which keys are on their lanes; empty before the first batch.
    keys, state
        Types of key and state, as JSON.
    replaced
        Files that batches have put others in place of, by batch: the states of those batches'
        forerunners can be read as long as they are there.
    """

    lanes: tuple[LaneState, ...] = ()
    plan: str = ""
    keys: str = ""
    state: str = ""
    replaced: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """Names of all files."""
        return {file.name for lane in self.lanes for file in lane.files}

    @property
    def key_count(self) -> int:
        """Number of all keys."""
        return sum(lane.keys for lane in self.lanes)

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            **_FORMAT.head(),
            "lanes": [
                {"files": [file.to_record() for file in lane.files], "keys": lane.keys}
                for lane in self.lanes
            ],
            "plan": self.plan,
            "keys": self.keys,
            "state": self.state,
            "replaced": {str(batch): list(names) for batch, names in self.replaced.items()},
        }

    @classmethod
    def from_record(cls, record: dict[str, Any], source: str = "the manifest") -> Self:
        """Read what `to_record` returned; a KeyError or TypeError means damage."""
        _FORMAT.check(record, source)
        lanes = tuple(
            LaneState(tuple(map(LaneFile.from_record, lane["files"])), int(lane["keys"]))
            for lane in record["lanes"]
        )
        replaced = {int(batch): tuple(names) for batch, names in record["replaced"].items()}
        return cls(lanes, record["plan"], record["keys"], record["state"], replaced)
