"""Aggregates whose partial results are not aggregates of their own kind: sketches, moments, lists.

A recipe says how the rows of a pane become partial results, how these merge, and what comes of
them, all as SQL text. None of them can be undone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from trimtab.spark.columns import quoted

MOST_VALUES = 10_000
"""Values of a key in a window that lists, sets and exact counts of distinct values may hold."""

HLL_BITS = 12
HLL_ERROR = 1.04 / 2 ** (HLL_BITS / 2)
"""Standard error of estimates of distinct values, 1.6 %."""

KLL_K = 800
"""Quantiles are of values whose rank is wrong by 0.4 % at most, in 99 cases of 100."""


@dataclass(frozen=True)
class Recipe:
    """How an aggregate is made; `{0}`, `{1}` in the texts stand for its partial results."""

    partials: tuple[str, ...]
    merges: tuple[str, ...]
    result: str


def recipe_of(
    function: str, argument: str, columns: list[str], time: str | None, ignores_nulls: bool = False
) -> Recipe | None:
    """Return the recipe of a call; None if there is none.

    Parameters
    ----------
    function, argument
        The call, as Spark writes it.
    columns
        The columns that arguments may be.
    time
        The event-time column, which says what is first and last; None if there is none.
    ignores_nulls
        Whether the first and the last value are those that are not null; the call does not show it.
    """
    if function == "count" and argument.upper().startswith("DISTINCT "):
        return _exact_distinct(argument[len("DISTINCT ") :], columns)
    found = _PATTERNS.get(function)
    match = None if found is None else found[0].fullmatch(argument)
    if found is None or match is None:
        return None
    names = [text for name, text in match.groupdict().items() if name in "xy" and text]
    if not set(names) <= set(columns):
        return None
    given = {k: quoted(v) if k in "xy" else v for k, v in match.groupdict().items() if v}
    if function in ("first", "last"):
        if time is None:
            return None
        given["y"] = quoted(time)
        if ignores_nulls:
            given["y"] = f"if({given['x']} IS NULL, NULL, {given['y']})"
    return found[1](given)


def _approx_distinct(given: dict[str, str]) -> Recipe:
    x = given["x"]
    # The hash of a null is not null, and a null is no value.
    sketch = f"hll_sketch_agg(if({x} IS NULL, NULL, xxhash64({x})), {HLL_BITS})"
    return Recipe((sketch,), ("hll_union_agg({0})",), "coalesce(hll_sketch_estimate({0}), 0L)")


def _quantiles(given: dict[str, str]) -> Recipe:
    sketch = f"kll_sketch_agg_double(cast({given['x']} AS double), {KLL_K})"
    found = f"kll_sketch_get_quantile_double({{0}}, {_as_doubles(given['at'])})"
    seen = "kll_sketch_get_n_double({0}) > 0"
    return Recipe((sketch,), ("kll_merge_agg_double({0})",), f"if({seen}, {found}, NULL)")


def _as_doubles(ranks: str) -> str:
    return re.sub(r"(\d+(?:\.\d*)?)(?:BD|D)?", r"\1D", ranks)


def _top_values(given: dict[str, str]) -> Recipe:
    x, most, tracked = given["x"], given["k"], given.get("tracked", "10000")
    return Recipe(
        (f"approx_top_k_accumulate({x}, {tracked})",),
        (f"approx_top_k_combine({{0}}, {tracked})",),
        f"approx_top_k_estimate({{0}}, {most})",
    )


def _exact_distinct(x: str, columns: list[str]) -> Recipe | None:
    if x not in columns:
        return None
    hint = "count DISTINCT", "use approx_count_distinct"
    merged = _bounded("array_distinct(flatten(collect_list({0})))", *hint)
    return Recipe((f"collect_set({quoted(x)})",), (merged,), "cast(size({0}) AS long)")


def _values(of: str, merged: str) -> Callable[[dict[str, str]], Recipe]:
    def made(given: dict[str, str]) -> Recipe:
        text = _bounded(merged, of, "use a sketch, a shorter window or a finer key")
        return Recipe((f"{of}({given['x']})",), (text,), "{0}")

    return made


def _bounded(values: str, what: str, hint: str) -> str:
    """Fail where a list is longer than is allowed: to cut it off would be a wrong result."""
    sentence = (
        f"{what} holds more than {MOST_VALUES} values of a key in a window, which is the most that "
        f"is allowed; {hint}"
    )
    return f"if(size({values}) > {MOST_VALUES}, raise_error('{sentence}'), {values})"


def _by(pick: str, extreme: str) -> Callable[[dict[str, str]], Recipe]:
    def made(given: dict[str, str]) -> Recipe:
        x, y = given["x"], given["y"]
        return Recipe(
            (f"{pick}({x}, {y})", f"{extreme}({y})"),
            (f"{pick}({{0}}, {{1}})", f"{extreme}({{1}})"),
            "{0}",
        )

    return made


_NO_MOMENTS = "named_struct('n', 0L, 'x', 0D, 'y', 0D, 'xx', 0D, 'yy', 0D, 'xy', 0D)"


def _moments(result: str) -> Callable[[dict[str, str]], Recipe]:
    """Merge numbers, means and sums of products about the means, as Chan et al. do: stable."""

    def made(given: dict[str, str]) -> Recipe:
        x = f"cast({given['x']} AS double)"
        y = f"cast({given['y']} AS double)" if "y" in given else x
        # A pair counts where both are there.
        a, b = f"if({y} IS NULL, NULL, {x})", f"if({x} IS NULL, NULL, {y})"
        partial = (
            f"named_struct('n', count({a}), 'x', coalesce(avg({a}), 0D), "
            f"'y', coalesce(avg({b}), 0D), 'xx', coalesce(var_pop({a}), 0D) * count({a}), "
            f"'yy', coalesce(var_pop({b}), 0D) * count({a}), "
            f"'xy', coalesce(covar_pop({a}, {b}), 0D) * count({a}))"
        )
        share = "(b.n / (a.n + b.n))"
        sums = ", ".join(
            f"'{p}{q}', a.{p}{q} + b.{p}{q} + (b.{p} - a.{p}) * (b.{q} - a.{q}) * a.n * {share}"
            for p, q in ("xx", "yy", "xy")
        )
        both = (
            f"named_struct('n', a.n + b.n, 'x', a.x + (b.x - a.x) * {share}, "
            f"'y', a.y + (b.y - a.y) * {share}, {sums})"
        )
        step = f"CASE WHEN b.n = 0 THEN a WHEN a.n = 0 THEN b ELSE {both} END"
        return Recipe(
            (partial,),
            (f"aggregate(collect_list({{0}}), {_NO_MOMENTS}, (a, b) -> {step})",),
            result,
        )

    return made


_VARIANCE = "if({0}.n = 0, NULL, {0}.xx / nullif({0}.n, 0))"
_SAMPLE_VARIANCE = "if({0}.n = 0, NULL, {0}.xx / nullif({0}.n - 1, 0))"
_COVARIANCE = "if({0}.n = 0, NULL, {0}.xy / nullif({0}.n, 0))"
_SAMPLE_COVARIANCE = "if({0}.n = 0, NULL, {0}.xy / nullif({0}.n - 1, 0))"
_CORRELATION = "if({0}.n < 2, NULL, {0}.xy / nullif(sqrt({0}.xx * {0}.yy), 0D))"

_SET = "array_distinct(flatten(collect_list({0})))"
_ONE = re.compile(r"(?P<x>[^()]+)")
_TWO = re.compile(r"(?P<x>[^(),]+), (?P<y>[^(),]+)")
_QUANTILE = re.compile(r"(?P<x>[^(),]+), (?P<at>.+), \d+L?")

_PATTERNS: dict[str, tuple[re.Pattern[str], Callable[[dict[str, str]], Recipe]]] = {
    "approx_count_distinct": (_ONE, _approx_distinct),
    "approx_percentile": (_QUANTILE, _quantiles),
    "percentile_approx": (_QUANTILE, _quantiles),
    "approx_top_k": (
        re.compile(r"(?P<x>[^(),]+), (?P<k>\d+)(?:, (?P<tracked>\d+))?"),
        _top_values,
    ),
    "collect_list": (_ONE, _values("collect_list", "flatten(collect_list({0}))")),
    "array_agg": (_ONE, _values("array_agg", "flatten(collect_list({0}))")),
    "collect_set": (_ONE, _values("collect_set", _SET)),
    "min_by": (_TWO, _by("min_by", "min")),
    "max_by": (_TWO, _by("max_by", "max")),
    "first": (_ONE, _by("min_by", "min")),
    "last": (_ONE, _by("max_by", "max")),
    "var_pop": (_ONE, _moments(_VARIANCE)),
    "var_samp": (_ONE, _moments(_SAMPLE_VARIANCE)),
    "variance": (_ONE, _moments(_SAMPLE_VARIANCE)),
    "stddev_pop": (_ONE, _moments(f"sqrt({_VARIANCE})")),
    "stddev_samp": (_ONE, _moments(f"sqrt({_SAMPLE_VARIANCE})")),
    "stddev": (_ONE, _moments(f"sqrt({_SAMPLE_VARIANCE})")),
    "std": (_ONE, _moments(f"sqrt({_SAMPLE_VARIANCE})")),
    "covar_pop": (_TWO, _moments(_COVARIANCE)),
    "covar_samp": (_TWO, _moments(_SAMPLE_COVARIANCE)),
    "corr": (_TWO, _moments(_CORRELATION)),
}

KNOWN = (*_PATTERNS, "count(DISTINCT ...)")
"""Names of the functions that have a recipe."""
