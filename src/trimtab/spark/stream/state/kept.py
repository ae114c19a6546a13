"""What a stateful operation keeps from batch to batch: the manifest, and what moving has cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Self

from pyspark.sql import types as T

from trimtab.errors import InvalidArgument
from trimtab.journal.keyed.manifest import Manifest

FADE = 0.5
"""How much a new measurement of time counts against all earlier ones."""


@dataclass(frozen=True)
class Cost:
    """What moving costs, as measured.

    Attributes
    ----------
    per_key
        Seconds of a task to move one key; None before any has moved.
    per_batch
        Seconds of all lanes' tasks in a batch; None before the first.
    """

    per_key: float | None = None
    per_batch: float | None = None

    def of_all(self, keys: int) -> float | None:
        """Return what moving all keys costs, in batches; None while that is not known."""
        if self.per_key is None or not self.per_batch:
            return None
        return self.per_key * keys / self.per_batch

    def in_batches(self, moving: float) -> float | None:
        """Return seconds of moving in times of a batch; None before one was measured."""
        return round(moving / self.per_batch, 6) if self.per_batch else None

    def measured(self, moved: int, moving: float, working: float) -> Cost:
        """Return the cost after a batch in which `moved` keys took `moving` seconds."""
        per_key = self.per_key
        if moved:
            per_key = _faded(per_key, moving / moved)
        return Cost(per_key, _faded(self.per_batch, working))


def _faded(before: float | None, now: float) -> float:
    return now if before is None else (1 - FADE) * before + FADE * now


@dataclass(frozen=True)
class KeyedKept:
    """What is known after a batch.

    Attributes
    ----------
    manifest
        The files that hold the states.
    watermark
        Spark's watermark in that batch, in milliseconds: rows behind it are late in the next.
    cost
        What moving costs.
    """

    manifest: Manifest = field(default_factory=Manifest)
    watermark: int = 0
    cost: Cost = field(default_factory=Cost)

    def state(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "manifest": self.manifest.to_record(),
            "watermark": self.watermark,
            "cost": [self.cost.per_key, self.cost.per_batch],
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Read what `state` returned; a KeyError or TypeError means damage."""
        manifest = Manifest.from_record(state["manifest"])
        return cls(manifest, int(state["watermark"]), Cost(*state["cost"]))


def refuse_other_state(before: str, now: T.StructType) -> None:
    """Refuse a type of state that the states on disk cannot be read as.

    Fields may be added if they may be null: keys that were there before have null in them.
    """
    if not before:
        return
    held = T.StructType.fromJson(json.loads(before))
    known = {one.name: one for one in held.fields}
    differences = []
    for one in now.fields:
        old = known.pop(one.name, None)
        if old is None:
            if not one.nullable:
                differences.append(f"{one.name!r} is new and may not be null")
        elif old.dataType != one.dataType:
            kinds = (old.dataType.simpleString(), one.dataType.simpleString())
            differences.append(f"{one.name!r} was {kinds[0]} and is now {kinds[1]}")
    differences += [f"{name!r} is gone" for name in known]
    if differences:
        raise InvalidArgument(
            f"state_schema does not fit the states in the checkpoint: {'; '.join(differences)}; "
            "fields may be added if they may be null; give the type as it was, or another "
            "checkpoint"
        )
