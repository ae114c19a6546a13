"""Functions on their way to executors: the same there, and one sentence where Trimtab is not."""

from __future__ import annotations

import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import cloudpickle

from trimtab.errors import InvalidArgument
from trimtab.spark.shipping import MISSING, shipped


def doubled(numbers: Iterator[int]) -> Iterator[int]:
    for number in numbers:
        if number < 0:
            raise InvalidArgument("no negative numbers")
        yield 2 * number


class Adder:
    """Adds what it was made with."""

    def __init__(self, more: int) -> None:
        self.more = more

    def __call__(self, numbers: Iterator[int]) -> Iterator[int]:
        return (number + self.more for number in numbers)


def test_a_function_does_the_same() -> None:
    sent = cloudpickle.loads(cloudpickle.dumps(shipped(doubled)))
    assert list(sent(iter([1, 2]))) == [2, 4]
    assert list(shipped(Adder(3).__call__)(iter([1]))) == [4]
    with pytest.raises(InvalidArgument, match="no negative"):
        list(sent(iter([-1])))


def test_spark_sees_the_name_and_the_types() -> None:
    sent = shipped(doubled)
    assert sent.__name__ == "doubled"
    assert list(typing.get_type_hints(sent).values()) == [Iterator[int], Iterator[int]]


def test_where_trimtab_is_missing_there_is_one_sentence(tmp_path: Path) -> None:
    def ours(numbers: Iterator[int]) -> Iterator[int]:
        raise InvalidArgument("never reached")

    (tmp_path / "sent").write_bytes(cloudpickle.dumps(shipped(ours)))
    lines = [
        "import sys, pathlib",
        # As on a machine where Trimtab was never installed.
        "sys.path = [p for p in sys.path if not pathlib.Path(p, 'trimtab').exists()]",
        "import pyspark.cloudpickle as pickle",
        f"call = pickle.loads(pathlib.Path({str(tmp_path / 'sent')!r}).read_bytes())",
        "call(iter([1]))",
    ]
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert ran.stderr.strip().splitlines()[-1] == f"RuntimeError: {MISSING}"
