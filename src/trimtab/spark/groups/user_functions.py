"""What Spark makes of a user's function of groups: how it is called, refused, checked and named.

A function must fare here as in Spark's own calls, so Spark is asked wherever it can be. Some of
what is asked is not part of its public interface, and stands in this file alone.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import pandas as pd
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas import typehints
from pyspark.util import PythonEvalType

from trimtab.errors import InvalidArgument

PANDAS, ARROW = "applyInPandas", "applyInArrow"
"""The two calls that take a function of a group, by Spark's names."""

_IN_PIECES = {
    PANDAS: PythonEvalType.SQL_GROUPED_MAP_PANDAS_ITER_UDF,
    ARROW: PythonEvalType.SQL_GROUPED_MAP_ARROW_ITER_UDF,
}
_KINDS = {
    (PANDAS, 1): PythonEvalType.SQL_GROUPED_MAP_PANDAS_UDF,
    (ARROW, 1): PythonEvalType.SQL_GROUPED_MAP_ARROW_UDF,
    (PANDAS, 2): PythonEvalType.SQL_COGROUPED_MAP_PANDAS_UDF,
    (ARROW, 2): PythonEvalType.SQL_COGROUPED_MAP_ARROW_UDF,
}
"""What Spark calls a function of a group, and of two groups side by side."""

_STAND_INS: tuple[Callable[..., Any], ...] = (
    lambda: None,
    lambda a: None,
    lambda a, b: None,
    lambda a, b, c: None,
)
"""Functions of 0 to 3 arguments, to ask Spark about in place of the user's. Spark counts the `self`
of a method, too, which nobody gives."""

_Wrapper = TypeVar("_Wrapper", bound=Callable[..., Any])


def takes_key(func: Callable[..., Any], frames: int = 1) -> bool:
    """Tell whether `func` asks for the key before its frames."""
    return _arguments(func) == frames + 1


def takes_iterator(func: Callable[..., Any], method: str = PANDAS) -> bool:
    """Tell, by its type hints as Spark does, whether `func` takes its group in pieces."""
    infer = (
        typehints.infer_group_pandas_eval_type_from_func
        if method == PANDAS
        else typehints.infer_group_arrow_eval_type_from_func
    )
    try:
        return bool(infer(func) == _IN_PIECES[method])
    except Exception:
        # Hints may be anything; Spark goes on without them.
        return False


def refuse_as_spark_does(
    func: Callable[..., Any], schema: T.StructType | str, method: str, frames: int = 1
) -> None:
    """Raise what Spark's own call raises for a function or a schema that it cannot take."""
    if not callable(func):
        raise InvalidArgument(f"{method} takes a function; got {func!r}")
    in_pieces = frames == 1 and takes_iterator(func, method)
    kind = _IN_PIECES[method] if in_pieces else _KINDS[method, frames]
    count = _arguments(func)
    stand_in = _STAND_INS[count if count < len(_STAND_INS) else 0]
    # Reading the type of the result makes Spark check it.
    _ = F.pandas_udf(stand_in, schema, kind).returnType


def refuse_result_as_spark_does(result: Any, schema: T.StructType, by_name: bool) -> None:
    """Raise, in a task, what Spark raises for a result that is no frame or has other columns.

    Parameters
    ----------
    result, schema
        What the function gave for a group, and the type it was said to have.
    by_name
        Whether columns that have names are found by them.
    """
    # Only tasks need it, and there Spark has imported it already.
    from pyspark.worker import verify_pandas_result

    verify_pandas_result(result, schema, by_name, truncate_return_schema=False)


def is_nothing(result: pd.DataFrame) -> bool:
    """Tell whether a result has neither rows nor columns, which stands for no rows."""
    return result.empty and not len(result.columns)


def named_after(wrapper: _Wrapper, func: Callable[..., Any]) -> _Wrapper:
    """Give `wrapper`, a function that calls `func`, its name, and return it.

    Plans, profiles and the lines of the workers' log show the name of what Spark has called. The
    log takes it from the code.
    """
    while isinstance(func, functools.partial):
        func = func.func
    code = getattr(func, "__code__", None) or getattr(type(func).__call__, "__code__", None)
    if code is not None:
        wrapper.__name__ = wrapper.__qualname__ = code.co_name
        wrapper.__code__ = wrapper.__code__.replace(co_name=code.co_name)
    return wrapper


def _arguments(func: Callable[..., Any]) -> int:
    """Count the arguments that have a place, as Spark does, but without those that are bound."""
    try:
        parameters = inspect.signature(func, follow_wrapped=False).parameters.values()
    except ValueError as error:
        raise TypeError("unsupported callable") from error
    placed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in placed for parameter in parameters)
