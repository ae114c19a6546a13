"""What tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.checkpoints import checkpoint, event


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return the checkpoint of a stream that has done two batches."""
    return checkpoint(tmp_path / "ck", event(0, [30, 10, 10, 10]), event(1, [20, 20, 20, 20]))
