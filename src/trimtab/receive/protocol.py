"""What client and receiver say to each other before and between records.

A client that wants nothing but to be heard just sends lines. One that wants more sends this first:

    {"trimtab": 1, "format": "json", "client": "till 7", "acknowledge": true, "secret": "..."}

Every field but the first may be left out. With `acknowledge` it is answered how many records of
that client are on disk, and goes on with the one after them; then such a line comes whenever more
are:

    {"durable": 1200}

A line with `error` says why the receiver hangs up.
"""

from __future__ import annotations

import hmac
import json
from dataclasses import asdict, dataclass
from typing import Any

from trimtab._checks import one_of
from trimtab.errors import InvalidArgument
from trimtab.receive.records import FORMATS

VERSION = 1
LONGEST_CLIENT = 200


@dataclass(frozen=True)
class Greeting:
    """What a client asks for.

    Attributes
    ----------
    format
        "json" or "csv"; None is what the receiver was started for.
    client
        Under which name its records are counted; None counts those of this connection.
    acknowledge
        Whether it wants to hear what is on disk.
    secret
        What the receiver shares with its clients.
    """

    format: str | None = None
    client: str | None = None
    acknowledge: bool = False
    secret: str | None = None

    def __post_init__(self) -> None:
        if self.format is not None:
            one_of("format", self.format, FORMATS)
        for name in ("client", "secret"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise InvalidArgument(f"{name} must be a text; got {value!r:.80}")
        if self.client is not None and len(self.client) > LONGEST_CLIENT:
            raise InvalidArgument(f"client must have at most {LONGEST_CLIENT} letters")
        if not isinstance(self.acknowledge, bool):
            raise InvalidArgument(f"acknowledge must be true or false; got {self.acknowledge!r}")

    def line(self) -> bytes:
        """Return the line that says so."""
        said = {name: value for name, value in asdict(self).items() if value not in (None, False)}
        return json.dumps({"trimtab": VERSION, **said}).encode() + b"\n"


def greeting(line: bytes) -> Greeting | None:
    """Read the first line of a client; None if it is a record.

    >>> greeting(b'{"trimtab": 1, "acknowledge": true}').acknowledge
    True
    >>> greeting(b'{"k": "a"}') is None
    True
    """
    try:
        said = json.loads(line)
    except ValueError:
        return None
    if not isinstance(said, dict) or "trimtab" not in said:
        return None
    if said.pop("trimtab") != VERSION:
        raise InvalidArgument(f"this receiver speaks version {VERSION} of its protocol")
    allowed = Greeting.__dataclass_fields__
    if unknown := sorted(said.keys() - allowed.keys()):
        raise InvalidArgument(f"{unknown[0]!r:.80} is unknown; known are {', '.join(allowed)}")
    return Greeting(**said)


def same_secret(given: str | None, expected: str) -> bool:
    """Compare secrets in a time that does not tell how much of them is right."""
    return given is not None and hmac.compare_digest(given.encode(), expected.encode())


def durable_line(records: int) -> bytes:
    """Return the line that says how many records are on disk."""
    return json.dumps({"durable": records}).encode() + b"\n"


def error_line(sentence: str) -> bytes:
    """Return the line that says why the connection ends."""
    return json.dumps({"error": sentence}).encode() + b"\n"


def answer(line: bytes) -> int:
    """Return how many records are on disk, from a line of the receiver.

    Raises
    ------
    InvalidArgument
        If the receiver has hung up, in its words, or says something else.
    """
    try:
        said: Any = json.loads(line)
    except ValueError:
        said = None
    if isinstance(said, dict) and "error" in said:
        raise InvalidArgument(f"the receiver has hung up: {said['error']}")
    if not isinstance(said, dict) or not isinstance(said.get("durable"), int):
        raise InvalidArgument(f"this is no receiver: it said {line!r:.80}")
    return int(said["durable"])
