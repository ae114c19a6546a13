"""The obvious twin of a lane's stack of files: a dictionary by key."""

from __future__ import annotations

Key = tuple[int, int]


class PlainStates:
    """States by key: (kind, timeout, value), kind 0 meaning that there is none."""

    def __init__(self) -> None:
        self.held: dict[Key, tuple[int, int, int]] = {}

    def put(self, key: Key, kind: int, timeout: int, value: int) -> None:
        if kind == 0:
            self.held.pop(key, None)
        else:
            self.held[key] = (kind, timeout, value)

    def timed_out(self, before: int) -> list[Key]:
        return sorted(key for key, (_, time, _) in self.held.items() if -1 < time < before)
