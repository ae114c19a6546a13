"""Files for their owner's eyes: what is shown of a run may name keys, and keys may be people."""

from __future__ import annotations

import os
from pathlib import Path


def write_for_owner(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read; one that exists keeps the rights it has."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
