from __future__ import annotations

from typing import Any

import pytest

from trimtab.errors import InvalidArgument
from trimtab.spark import Batch, FunctionSink


def test_the_function_is_called_with_results_and_batch_where_there_are_results() -> None:
    calls: list[Any] = []
    sink = FunctionSink(lambda results, batch: calls.append((results, batch.id)))
    results: Any = "a frame"
    batch = Batch(4, 2, None, "hash", None, None)
    session: Any = None
    sink.write(results, batch, session)
    sink.write(None, batch, session)
    assert calls == [("a frame", 4)]
    assert not sink.has(4)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="function must be a function"):
        FunctionSink(5)
