"""Everything that `trimtab.spark` offers shows a few lines that run, and they do."""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import trimtab.spark as tt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = {
    *("Batch", "KeyWeight", "Unbalanced"),  # facts: nothing to call
    *("Sink", "FunctionSink", "MemorySink", "ParquetSink", "TableSink"),  # called by the runner
    "Route",  # called by the operators
}
"""Classes whose one example stands with the class, because users do not call their methods."""


def verbs() -> Iterator[Any]:
    """Return what must have an example: functions, methods that users call, other classes."""
    for name in tt.__all__:
        given = getattr(tt, name)
        if not inspect.isclass(given) or name in WHOLE:
            yield given
            continue
        for method, function in inspect.getmembers(given, inspect.isfunction):
            if not method.startswith("_"):
                yield function


@pytest.mark.parametrize("verb", list(verbs()), ids=lambda verb: verb.__qualname__)
def test_every_verb_has_an_example(verb: Any) -> None:
    assert ">>>" in (verb.__doc__ or ""), f"show in the docstring how {verb} is used"


def examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = pkgutil.walk_packages(tt.__path__, "trimtab.spark.")
    found = [
        test for module in modules for test in finder.find(importlib.import_module(module.name))
    ]
    return [test for test in found if test.examples]


@pytest.mark.spark
@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_the_example_runs(example: doctest.DocTest, spark: SparkSession, tmp_path: Path) -> None:
    example.globs.update(spark=spark, tmp=str(tmp_path), tt=tt, F=F, pd=pd, pa=pa)
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(example, out=said.write)
    assert runner.failures == 0, said.getvalue()
