"""What Spark says in text about columns, plans and mistakes, and how it is read: only here.

Spark gives no other access to these facts on both Classic and Connect, and its texts change from
version to version: `tests/spark/spark_texts` holds those of every version that is supported.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pyspark.sql import Column, DataFrame

from trimtab.spark.session_facts import is_connect

_PYTHON_AGGREGATE = re.compile(
    r"(?:ArrowAggregatePython|AggregateInPandas) \[.*?(?:#\d+L?|fields)\], \[([^(]+)\(", re.DOTALL
)
"""The operator, its keys with their numbers, then its functions: `[user#0], [middle(x#1)#70]`. Of
very many keys the first are listed, `... 15 more fields` after them."""

_WATERMARK = re.compile(r"\bEventTimeWatermark\b")

_FILTER_BY_TIME = re.compile(r"^[\s:+-]*~?Filter .*#\d+L?-T\d+ms", re.MULTILINE)
"""A filter by a column that has a watermark already: Spark writes the delay behind its name."""

_NODE = re.compile(r"^[\s:+-]*~?(\w+)(.*)$")
"""A line of a logical plan: what it does, and with what. Parts of a stream have a `~` before it."""

_ROW_BY_ROW = {"Project", "SubqueryAlias", "View", "ResolvedHint", "EventTimeWatermark"}
_LEAVING_ROWS_OUT = {"Filter", "Generate"}
_IN_ONE_ORDER = re.compile(
    r"^(Range|LocalRelation)\b"
    r"|^Relation \[.*\] (parquet|orc|csv|json|text|avro)$"
    r"|^StreamingRelation FileSource\["
    r"|^StreamingRelationV2 .*, (kafka|rate|rate-micro-batch), "
)
"""Sources that are known to give a partition's rows in one order, whenever it is read."""

_OTHER_EVERY_TIME = re.compile(
    r"\)#\d|\bUDF\b|\b(randn?|random|uniform|uuid|shuffle|randstr|reflect|java_method)\(",
    re.IGNORECASE,
)
"""Functions that may give something else when they are called again. Those in Python end with a
number of their own, `f(x#1)#7`."""

_DISTINCT = re.compile(r"\(distinct ")

_GROWING = re.compile(
    r"\b(?:collect_list|collect_set|array_agg|listagg|string_agg|percentile|percentile_cont|"
    r"percentile_disc|median|mode|histogram_numeric)\s*\(",
    re.IGNORECASE,
)

_STAR = re.compile(r"\*(?!\()|\bunresolvedstar\(")
"""A star, which may be one of SQL's multiplications: those of Columns are `*(a, b)`."""

_EQUALITY = re.compile(r"={1,2}\((\w+), (\w+)\)")
"""Classic writes `=(a, b)`, Connect `==(a, b)`."""

_PLACE = "\0"
_CONJUNCTION = f"and({_PLACE}, {_PLACE})"
"""What stands for a condition that has been read, and two of them; no name has this letter."""


def physical_plan(df: DataFrame) -> str:
    """Return the physical plan as text, on Spark Classic and on Spark Connect.

    It is what `df.explain()` prints; nothing is printed here, so that threads can ask at once.
    """
    if is_connect(df):
        return str(df._explain_string())
    return str(df._jdf.queryExecution().simpleString())


def all_plans(df: DataFrame) -> str:
    """Return the logical plans and the physical plan as text, as `df.explain(True)` prints them."""
    if hasattr(df, "_explain_string"):  # Connect
        return str(df._explain_string(extended=True))
    return str(df._jdf.queryExecution().toString())


def analyzed_plan(df: DataFrame) -> str:
    """Return the analyzed logical plan as text: what a frame does, before Spark has improved it."""
    if not hasattr(df, "_explain_string"):
        # As a tree: a stream's source alone would not say what it is.
        return str(df._jdf.queryExecution().analyzed().treeString())
    analyzed = all_plans(df).partition("== Analyzed Logical Plan ==")[2]
    # Here the first line tells the columns.
    lines = analyzed.partition("== Optimized Logical Plan ==")[0].strip().splitlines()
    return "\n".join(lines[1:])


def keeps_order(plan: str) -> bool:
    """Tell whether each partition has its rows in the same order whenever it is computed.

    So it is where rows come one by one from files, from Kafka or from a range, and nothing mixes or
    drops them that may do otherwise the next time. `plan` is an analyzed logical plan; what is not
    known to keep the order is taken not to.
    """
    nodes = [_NODE.match(line) for line in plan.strip().splitlines()]
    if not nodes:
        return False
    names = ["" if node is None else node[1] for node in nodes[:-1]]
    source = "" if nodes[-1] is None else "".join(nodes[-1].groups())
    if set(names) - _ROW_BY_ROW - _LEAVING_ROWS_OUT or not _IN_ONE_ORDER.match(source):
        return False
    return not (_LEAVING_ROWS_OUT & set(names) and _OTHER_EVERY_TIME.search(plan))


def is_observed(df: DataFrame) -> bool:
    """Tell whether figures of a frame are observed, which are those of the first job over it."""
    return "CollectMetrics" in analyzed_plan(df)


def watermarks(plans: str) -> int:
    """Return how many inputs of a streaming frame have a watermark, from its plans."""
    return len(_WATERMARK.findall(_analyzed(plans)))


def filters_after_watermark(plans: str) -> bool:
    """Tell whether rows that have moved the watermark are left out afterwards, by their time.

    Filters by other columns do not count: Spark has them before it looks at the time.
    """
    return _FILTER_BY_TIME.search(_analyzed(plans)) is not None


def _analyzed(plans: str) -> str:
    analyzed = plans.partition("== Analyzed Logical Plan ==")[2]
    return analyzed.partition("== Optimized Logical Plan ==")[0]


def python_aggregate(plan: str) -> str | None:
    """Return the name of the aggregate that a physical plan computes in Python, if it has one.

    Such an aggregate needs all rows of a group in one place.
    """
    found = _PYTHON_AGGREGATE.search(plan)
    return found[1] if found else None


def calls_python(plan: str) -> bool:
    """Tell whether a physical plan has a function in Python that is called row by row.

    >>> calls_python("+- BatchEvalPython [f(x#1L)#2], [pythonUDF0#3]")
    True
    """
    return "EvalPython" in plan


def is_distinct(plan: str) -> bool:
    """Tell whether a physical plan aggregates distinct values of one expression.

    The columns that were asked for do not show it on Classic. Where values of several expressions
    are to be distinct, Spark expands the rows instead, and this is False.
    """
    return _DISTINCT.search(plan) is not None


def column_text(column: Column) -> str:
    """Return a column as it was written, before Spark has resolved it."""
    return str(column).removeprefix("Column<'").removesuffix("'>")


def equalities(written: str) -> list[tuple[str, str]] | None:
    """Return the pairs of names that a condition, given as text, says are equal, and no more.

    None if there is more to it, or other things than names are compared. A number, a truth or a
    text may look like a name.
    """
    pairs: list[tuple[str, str]] = []

    def noted(found: re.Match[str]) -> str:
        pairs.append((found[1], found[2]))
        return _PLACE

    rest = _EQUALITY.sub(noted, written)
    while _CONJUNCTION in rest:
        rest = rest.replace(_CONJUNCTION, _PLACE)
    return pairs if rest == _PLACE else None


def grows(written: str) -> bool:
    """Tell whether an aggregate, given as text, has parts as large as the rows they were made of.

    Lists are such parts, and so are the counted values from which exact percentiles come.
    """
    return _GROWING.search(written) is not None


def may_have_star(written: str) -> bool:
    """Tell whether a column, given as text, may speak of all columns as `*`.

    >>> may_have_star("max(struct(*))"), may_have_star("sum(*(a, b))")
    (True, False)
    """
    return _STAR.search(written) is not None


def aggregates_read(aggregated: DataFrame, name: str) -> bool:
    """Tell whether the aggregates of a frame that `groupBy().agg` has made read a column."""
    return speaks_of(analyzed_plan(aggregated).partition("\n")[0], name)


class Call(NamedTuple):
    """A function's name in lower case, and its arguments as text, a FILTER among them."""

    function: str
    argument: str

    @property
    def distinct(self) -> bool:
        """Whether repeated values count once."""
        return self.argument.upper().startswith("DISTINCT ")


def aggregate_call(written: str, shown: str) -> Call | None:
    """Return the call that an aggregate consists of, None if there is more to it than one call.

    Parameters
    ----------
    written
        The column's own text.
    shown
        The name that Spark gives its result. It begins with the same word as `written`, unless
        there is an alias or an operator.
    """
    function = re.match(r"\w+(?=\()", shown)
    if function is None or not shown.endswith(")") or " OVER (" in shown:
        return None
    if not written.lower().startswith(function[0].lower() + "("):
        return None
    if written != shown and written.rstrip("`").endswith(shown):
        return None  # an alias that looks like a call, perhaps of another column
    return Call(function[0].lower(), shown[function.end() + 1 : -1])


def ignores_nulls(written: str) -> bool:
    """Tell whether a call of `first` or `last`, as it was written, passes nulls by.

    The name of its result does not show it.

    >>> ignores_nulls("first(x, true)"), ignores_nulls("last(x) ignore nulls")
    (True, True)
    >>> ignores_nulls("first(x, false)"), ignores_nulls("first(x)")
    (False, False)
    """
    return re.search(r"(?i), *true\)$|\) *ignore +nulls$", written) is not None


def speaks_of(text: str, name: str) -> bool:
    """Tell whether a column's text has `name` in it as a word, in any case of letters."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def complaint(error: Exception) -> str:
    """Return what Spark complains of, without the plan or the stack that stands below it."""
    return str(error).strip().partition("\n")[0]


def raised_elsewhere(error: Exception) -> tuple[str, str] | None:
    """Return class and words of an error of ours that Spark tells of in a traceback; None if none.

    >>> lines = ["Failed: Traceback", "  File ...", "trimtab.errors.NotThere: no such log"]
    >>> raised_elsewhere(Exception(chr(10).join(lines)))
    ('NotThere', 'no such log')
    """
    lines = [line for line in str(error).splitlines() if line.startswith("trimtab.errors.")]
    if not lines:
        return None
    name, _, words = lines[-1].removeprefix("trimtab.errors.").partition(": ")
    return name, words


class PlanFacts(NamedTuple):
    """What the optimizer knows of a frame before anything runs.

    Attributes
    ----------
    bytes, rows
        Size and number of rows, None where the optimizer does not know.
    quick
        Whether a few rows can be had without computing all: they are read, chosen and projected.
    broadcasts
        Whether a join sends one whole side to every task, so that no rows of it move by key.
    shuffles
        How often rows move by key, and by the session's number of partitions.
    """

    bytes: float | None
    rows: float | None
    quick: bool
    broadcasts: bool
    shuffles: int = 0


_STATISTICS = re.compile(r"Statistics\(sizeInBytes=([\d.E+]+) (\w+)(?:, rowCount=([\d.E+]+))?")
_SCALE = {"B": 0, "KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4, "PiB": 5}
_STATED_NODE = re.compile(r"^([\s:|+-]*)(?:\*\(\d+\) )?(\w+)")
_QUICK = {
    *("Project", "Filter", "Relation", "Range", "LocalRelation", "LogicalRDD", "Union"),
    *("InMemoryRelation", "RelationV2", "DataSourceV2ScanRelation", "SubqueryAlias"),
}


def plan_facts(df: DataFrame) -> PlanFacts:
    """Return what the optimizer says of a frame; nothing runs."""
    return read_plan_facts(_plans_with_statistics(df))


def read_plan_facts(text: str) -> PlanFacts:
    """Read the facts from what `df.explain(mode="cost")` prints."""
    logical, _, physical = text.partition("== Physical Plan ==")
    facts = _logical_facts(logical.splitlines()[1:])
    broadcasts = "BroadcastHashJoin" in physical
    return facts._replace(broadcasts=broadcasts, shuffles=_shuffles(physical))


class JoinFacts(NamedTuple):
    """What the optimizer knows of the two sides of a join, and of Spark's own join of them."""

    left: PlanFacts
    right: PlanFacts
    plain: PlanFacts


def join_facts(left: DataFrame, right: DataFrame, plain: DataFrame) -> JoinFacts:
    """Return what the optimizer says of a join, `plain`, and of its sides.

    All stands in the plan of the join. Where it is not found there, as where the optimizer needs no
    join at all, the sides are asked for: each is one more plan for Spark to make and to print.
    """
    found = read_join_facts(_plans_with_statistics(plain))
    return found or JoinFacts(plan_facts(left), plan_facts(right), plan_facts(plain))


def read_join_facts(text: str) -> JoinFacts | None:
    """Read the facts of a join and of its sides; None if the plan is not a join of two frames."""
    lines = text.partition("== Physical Plan ==")[0].splitlines()[1:]
    for at, line in enumerate(lines):
        node = _STATED_NODE.match(line)
        if node is None or node[2] not in ("Project", "Join"):
            return None
        if node[2] == "Join":
            below = (" " * len(node[1]) + ":- ", " " * len(node[1]) + "+- ")
            sides = [i for i in range(at + 1, len(lines)) if lines[i].startswith(below)]
            if len(sides) != 2:
                return None
            left, right = lines[sides[0] : sides[1]], lines[sides[1] :]
            return JoinFacts(_logical_facts(left), _logical_facts(right), read_plan_facts(text))
    return None


def _plans_with_statistics(df: DataFrame) -> str:
    if is_connect(df):
        return str(df._explain_string(mode="cost"))
    return str(df._jdf.queryExecution().stringWithStats())


def _logical_facts(lines: list[str]) -> PlanFacts:
    """Read the facts of a tree of an optimized plan: of how it is carried out nothing is known."""
    size: float | None = None
    rows: float | None = None
    quick, below_cache = True, None
    for line in lines:
        found = _STATED_NODE.match(line) if line.strip() else None
        if found is None:
            continue  # a heading: a cached plan is shown as it was and as it began
        depth, name = len(found[1]), found[2]
        if below_cache is not None and depth > below_cache:
            continue  # how a cached frame was once made is of no interest
        below_cache = depth if name == "InMemoryRelation" else None
        quick = quick and name in _QUICK and "Python" not in line
        known = _STATISTICS.search(line)
        if known is None:
            continue
        if size is None and known[2] in _SCALE:
            size = float(known[1]) * 1024.0 ** _SCALE[known[2]]
        if known[3] is not None and name in ("InMemoryRelation", "Range", "LocalRelation"):
            rows = (rows or 0.0) + float(known[3])
    return PlanFacts(size, rows if quick else None, quick, broadcasts=False)


def _shuffles(physical: str) -> int:
    count, below_cache = 0, None
    for line in physical.splitlines():
        found = _STATED_NODE.match(line)
        if found is None:
            continue
        depth = len(found[1])
        if below_cache is not None and depth > below_cache:
            continue
        below_cache = depth if found[2] == "InMemoryTableScan" else None
        if found[2] == "Exchange" and "hashpartitioning(" in line and "ENSURE_REQ" in line:
            count += 1
    return count
