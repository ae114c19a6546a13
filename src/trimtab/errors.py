"""The errors Trimtab raises, all below one base class.

Each message says what was given, what is allowed and what to do. The second base of every class
is the built-in that Python programmers would have caught anyway.
"""

from __future__ import annotations

from collections.abc import Iterable


class TrimtabError(Exception):
    """Base class of every error that Trimtab raises on purpose."""


class InvalidArgument(TrimtabError, ValueError):
    """A parameter is outside of what is allowed."""


class UnknownName(TrimtabError, ValueError):
    """A registry was asked for a name it does not have."""

    def __init__(self, kind: str, given: object, known: Iterable[str]) -> None:
        names = ", ".join(sorted(known))
        super().__init__(f"unknown {kind} {given!r}; known {kind}s: {names}")


class UnsupportedKeyType(TrimtabError, TypeError):
    """A key column has a type that cannot be hashed the way Spark hashes it."""


class CorruptState(TrimtabError, ValueError):
    """A stored plan, state or log is damaged, of another kind, or from a newer version."""


class SplitKeysRefused(TrimtabError, ValueError):
    """An operator that needs whole keys was given a partitioner that splits them."""


class AlreadyThere(TrimtabError, FileExistsError):
    """A store was asked to create a name that somebody has created before."""


class NotThere(TrimtabError, FileNotFoundError):
    """A store was asked for a name that nobody has created, or that was removed."""


class StoreFailed(TrimtabError, OSError):
    """A store could not do what it was asked: no room, no right, no network."""


class TakenOver(TrimtabError, RuntimeError):
    """Another driver has taken a newer epoch of the place this driver writes to."""


class FunctionFailed(TrimtabError, RuntimeError):
    """A user's function raised, or gave something that it may not give, for a key."""
