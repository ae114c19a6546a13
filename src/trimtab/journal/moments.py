"""Named moments of a batch, at which a test can stop the process."""

from __future__ import annotations


def at(moment: str, batch: int) -> None:
    """Mark that a batch has come to a moment, such as "plan written".

    It does nothing. Tests of recovery put a function of their own in its place, which waits there
    to be killed.
    """
