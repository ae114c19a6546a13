"""What tests of streams share: files of clicks, and a stream over them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from trimtab.spark.stream.api import Stream


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    from tests.spark.stream.inputs import write_files

    return write_files(tmp_path_factory.mktemp("input") / "in", 4)


@pytest.fixture
def begin(spark: SparkSession, files: list[Path], tmp_path: Path) -> Callable[..., Stream]:
    from tests.spark.stream.inputs import read_stream
    from trimtab.spark.stream.api import stream

    def made(key: Any = "user", lanes: Any = 3, **options: Any) -> Stream:
        frame = read_stream(spark, files[0].parent)
        return stream(frame, key, lanes, **{"checkpoint": str(tmp_path / "ck"), **options})

    return made
