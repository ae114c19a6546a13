from __future__ import annotations

import pytest

from trimtab.errors import InvalidArgument
from trimtab.receive.protocol import (
    Greeting,
    answer,
    durable_line,
    error_line,
    greeting,
    same_secret,
)


def test_a_greeting_is_read_as_it_was_said() -> None:
    for said in (Greeting(), Greeting("csv", "till 7", True, "s3cret"), Greeting(client="ä")):
        assert greeting(said.line()) == said


def test_records_are_no_greetings() -> None:
    for line in (b"", b"a,b", b"{", b"[1]", b'{"k": 1}', b"\xff"):
        assert greeting(line) is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"trimtab": 2}', "version 1"),
        (b'{"trimtab": 1, "formt": "csv"}', "'formt' is unknown; known are format, client"),
        (b'{"trimtab": 1, "format": "xml"}', "'json', 'csv'"),
        (b'{"trimtab": 1, "client": 7}', "client must be a text"),
        (b'{"trimtab": 1, "client": "' + 201 * b"x" + b'"}', "at most 200"),
        (b'{"trimtab": 1, "acknowledge": "yes"}', "true or false"),
    ],
)
def test_a_wrong_greeting_is_refused_with_the_reason(line: bytes, why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        greeting(line)


def test_answers_are_numbers_or_refusals() -> None:
    assert answer(durable_line(12)) == 12
    with pytest.raises(InvalidArgument, match="hung up: no room"):
        answer(error_line("no room"))
    with pytest.raises(InvalidArgument, match="this is no receiver: it said b'SSH"):
        answer(b"SSH-2.0\r\n")


def test_secrets_are_compared_whole() -> None:
    assert same_secret("ä", "ä")
    assert not same_secret("a", "ab")
    assert not same_secret(None, "a")
