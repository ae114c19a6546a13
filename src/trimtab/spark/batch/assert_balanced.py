"""A test for people's own suites: fail when a frame's keys would load the lanes unevenly."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame

from trimtab._checks import real
from trimtab.errors import TrimtabError
from trimtab.spark.batch.profile import profile
from trimtab.spark.batch.skew_report import SkewReport
from trimtab.spark.columns import Keys


class Unbalanced(TrimtabError, AssertionError):
    """The keys of a frame load some lane too much.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
    >>> try:
    ...     tt.assert_balanced(clicks, "user", lanes=4, max_ratio=1.5)
    ... except tt.Unbalanced as found:
    ...     print(found)
    max/mean of user on 4 lanes is 2.800, more than 1.5; 'ann' holds 60.0%; kip: ...
    """


def assert_balanced(
    df: DataFrame,
    key: Keys,
    lanes: int,
    max_ratio: float,
    *,
    weight: str | Column | None = None,
    sample: float | None = None,
    names: str = "plain",
) -> SkewReport:
    """Fail if Spark's hash gives the heaviest lane more than `max_ratio` times the mean weight.

    Parameters
    ----------
    df, key, lanes, weight, sample, names
        As for `profile`.
    max_ratio
        Greatest max/mean that passes, 1 or more.

    Returns
    -------
    SkewReport
        What was found, when it passes.

    Raises
    ------
    Unbalanced
        An `AssertionError` that names the hottest key and what would help.

    Examples
    --------
    >>> orders = spark.sql("select id % 50 as shop from range(1000)")
    >>> report = tt.assert_balanced(orders, "shop", lanes=4, max_ratio=1.5)
    >>> round(report.max_over_mean, 2)
    1.44
    """
    real("max_ratio", max_ratio, 1)
    found = profile(df, key, lanes, weight, sample=sample, names=names)
    if found.max_over_mean > max_ratio:
        hottest = f"{found.hottest[0].key!r} holds {found.hottest[0].share:.1%}; " * bool(
            found.hottest
        )
        raise Unbalanced(
            f"max/mean of {', '.join(found.key)} on {found.lanes} lanes is "
            f"{found.max_over_mean:.3f}, more than {max_ratio:g}; {hottest}"
            f"{found.advice.recommended}: {found.advice.reason}"
        )
    return found
