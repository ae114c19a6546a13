"""Functions of ours on their way to executors: one sentence where Trimtab is missing there.

Spark sends functions as pickles. One of ours names Trimtab's modules, and where they cannot be
imported the worker fails before any line of ours runs, with a traceback about pickles. So what is
sent is a small function that needs nothing, with ours packed inside.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from pyspark import cloudpickle

from trimtab.spark.groups.user_functions import named_after

MISSING = (
    "Trimtab is not installed where this task runs: install it on every worker, send it with "
    "--py-files or addPyFile, or give executors a packed environment; docs/operating.md, "
    "'Getting Trimtab to executors', shows how"
)


def shipped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same, and says in one sentence where it cannot be read.

    It is read once for every call: use it for functions that are called once for a task.

    Parameters
    ----------
    function
        A function or bound method that takes an iterator and gives one.
    """
    packed, missing = cloudpickle.dumps(function), MISSING

    def call(batches: Any) -> Any:
        import importlib.util

        from pyspark import cloudpickle

        if importlib.util.find_spec("trimtab") is None:
            raise RuntimeError(missing)
        # It comes from the driver, as the function around it does.
        return cloudpickle.loads(packed)(batches)

    plain = getattr(function, "__func__", function)
    # Spark reads from annotations what kind of function it is given.
    hints = typing.get_type_hints(plain)
    result = hints.pop("return", Any)
    call.__annotations__ = {"batches": next(iter(hints.values()), Any), "return": result}
    return named_after(call, function)
