from __future__ import annotations

import numpy as np
import pytest

from trimtab.receive.cutting import SHOWN_BYTES, LineCutter


@pytest.mark.parametrize("limit", [3, 40, 5000])
def test_lines_are_the_same_in_whatever_pieces_they_come(limit: int) -> None:
    random = np.random.default_rng(1)
    lengths = random.choice([0, 1, 2, 3, 4, 39, 40, 41, 2000], 300)
    data = (
        b"".join(bytes([65 + at % 26]) * size + b"\n" for at, size in enumerate(lengths)) + b"end"
    )
    expected = [line if len(line) <= limit else line[:SHOWN_BYTES] for line in data.split(b"\n")]
    for size in (1, 7, 1000, len(data)):
        cutter, found, consumed, most = LineCutter(limit), [], 0, 0
        for start in range(0, len(data), size):
            for piece in cutter.feed(data[start : start + size]):
                lines = piece.data.removesuffix(b"\n").split(b"\n")
                assert piece.records == len(lines)
                assert bool(piece.reason) == (max(map(len, lines)) > limit)
                found += lines
                consumed += piece.size
            most = max(most, cutter.held)
        (last,) = cutter.finish()
        assert [*found, last.data] == expected
        assert (consumed + last.size, cutter.finish()) == (len(data), [])
        assert most <= max(limit + 1, SHOWN_BYTES)


def test_a_line_without_end_takes_no_memory() -> None:
    cutter = LineCutter(record_bytes=10_000)
    for _ in range(1000):
        assert cutter.feed(b"x" * 10_000) == []
        assert cutter.held <= 10_000
    assert cutter.held == SHOWN_BYTES
    (long, good) = cutter.feed(b"\ngood\n")
    assert (long.data, long.size) == (b"x" * SHOWN_BYTES, 10_000_001)
    assert long.reason == "it has 10000001 bytes, and at most 10000 are taken"
    assert (good.data, good.reason) == (b"good\n", "")
