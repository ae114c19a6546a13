"""What stands at the head of everything Trimtab writes, so that a reader knows what it reads."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.errors import CorruptState


@dataclass(frozen=True)
class Format:
    """A kind of thing that is written, and the one version of it that is written and read.

    Attributes
    ----------
    name
        What is written in the head, such as `trimtab.plan`.
    version
        Raised when an older Trimtab could not read what is written, or would misread it.
    what
        What people call it, such as "a plan".

    Examples
    --------
    >>> plans = Format("trimtab.plan", 1, "a plan")
    >>> plans.head()
    {'format': 'trimtab.plan', 'version': 1}
    >>> plans.check({"format": "trimtab.histogram", "version": 1}, "ck/plan.json")
    Traceback (most recent call last):
    trimtab.errors.CorruptState: ck/plan.json holds 'trimtab.histogram', not a plan
    """

    name: str
    version: int
    what: str

    def head(self) -> dict[str, Any]:
        """Return the first fields of what is written."""
        return {"format": self.name, "version": self.version}

    def check(self, data: Any, source: str) -> None:
        """Refuse what is something else, or of another version; `source` names it in errors."""
        if not isinstance(data, dict) or "format" not in data:
            raise CorruptState(
                f"{source} is damaged: it holds {type(data).__name__!r} without a format, "
                f"not {self.what}"
            )
        if data["format"] != self.name:
            raise CorruptState(f"{source} holds {data['format']!r:.80}, not {self.what}")
        version = data.get("version")
        if not isinstance(version, int):
            raise CorruptState(f"{source} is damaged: it has version {version!r:.80}")
        if version != self.version:
            raise CorruptState(
                f"{source} has version {version}; this Trimtab reads version {self.version}; "
                "upgrade Trimtab, or use the one that wrote it"
            )


def write_whole(path: str | Path, text: str) -> None:
    """Write a file so that a reader finds the old text or the new one, never a part."""
    target = Path(path)
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    aside.write_text(text, encoding="utf-8")
    aside.replace(target)
