"""A plan with the keys it was made for, kept in a file from one run of a job to the next."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

from pyspark.sql import Column, DataFrame

from trimtab._format import Format, write_whole
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.histogram import Histogram
from trimtab.metrics import max_over_mean
from trimtab.partitioners import Given
from trimtab.plan import Plan
from trimtab.spark.batch.decision import default_lanes
from trimtab.spark.columns import KeyColumns, Keys, key_columns
from trimtab.spark.counting.first_rows import LOOKED_AT, first_rows_of
from trimtab.spark.routing.route import route_of

_FORMAT = Format("trimtab.key_plan", 1, "a plan with its keys")

FITS = 1.5
"""How many times as lopsided as expected the first rows of a frame may be. With 100 of them for
each lane the fullest of 16 lanes has a fifth more than its share by luck alone; with 4,096 the
fullest of 64 has three tenths more."""

CHECKED_PER_LANE = 100
"""Rows for each lane that a plan is checked against, up to 4,096: the first partition often has so
many, and then there is no second job for the next ones."""

KnownHistogram: TypeAlias = "Histogram | str | Path"
"""What is known of the keys: a histogram, or the file that one was saved to."""


class PlanOutdated(UserWarning):
    """A plan was given that the keys of the frame no longer fit; a new one was made."""


@dataclass(frozen=True, eq=False)
class KeyPlan:
    """A plan for a key, with what was known of the keys when it was made.

    Attributes
    ----------
    key
        Name and type of each key column.
    plan
        Where keys go.
    histogram
        The keys that the plan was made for.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user, id from range(100)")
    >>> tt.plan_keys(clicks, "user", lanes=4).save(tmp + "/users.json")
    >>> next_day = tt.group_by(clicks, "user", plan=tmp + "/users.json")
    >>> next_day.applyInPandas(lambda rows: rows.head(1), "user string, id long").count()
    41
    """

    key: tuple[tuple[str, str], ...]
    plan: Plan
    histogram: Histogram

    @property
    def expected(self) -> float:
        """Fullest lane over the mean, as it was expected when the plan was made."""
        return max_over_mean(self.plan.loads(self.histogram))

    def fit(self, df: DataFrame, key: Keys) -> float | None:
        """Return how many times as lopsided as expected the first rows of a frame are.

        None if the frame is not quick to look at, or the histogram is not one of rows.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> tt.plan_keys(clicks, "user", lanes=2).fit(clicks, "user")
        1.0
        """
        return self._fit(df, key_columns(df, key).hash)

    def _fit(self, df: DataFrame, key_hash: Column) -> float | None:
        look = first_rows_of(df, key_hash, min(LOOKED_AT, CHECKED_PER_LANE * self.plan.lanes))
        if look is None or not look.hashes.size or self.histogram.unit != "rows":
            return None
        seen = Histogram.from_hashes(look.hashes, hosts=self.plan.hosts.size)
        return max_over_mean(self.plan.loads(seen)) / self.expected

    def save(self, path: str | Path) -> None:
        """Write the plan and its keys to a file, in place of what it held.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> known = tt.plan_keys(clicks, "user", lanes=2)
        >>> known.save(tmp + "/users.json")
        >>> tt.KeyPlan.read(tmp + "/users.json").plan == known.plan
        True
        """
        text = json.dumps(
            {
                **_FORMAT.head(),
                "key": [list(column) for column in self.key],
                "plan": self.plan.to_json(),
                "histogram": self.histogram.to_json(),
            }
        )
        write_whole(path, text)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read what `save` wrote.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> tt.plan_keys(clicks, "user", lanes=2).save(tmp + "/users.json")
        >>> tt.KeyPlan.read(tmp + "/users.json").key
        (('user', 'string'),)
        """
        source = str(path)
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            _FORMAT.check(data, source)
            return cls(
                tuple((str(name), str(kind)) for name, kind in data["key"]),
                Plan.from_json(data["plan"], source),
                Histogram.from_json(data["histogram"], source),
            )
        except OSError as error:
            raise InvalidArgument(
                f"no plan can be read from {source!r}: {error.strerror}; save one with "
                "plan_keys(...).save(path)"
            ) from error
        except CorruptState:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptState(f"{source} is damaged: {error}") from error


GivenPlan: TypeAlias = "KeyPlan | Plan | str | Path"
"""A plan as operators take it: with its keys, alone, or the file that it was saved to."""


def plan_keys(
    df: DataFrame,
    key: Keys,
    lanes: int | None = None,
    partitioner: Given = "trim",
    *,
    parameters: Mapping[str, Any] | None = None,
    split: bool = False,
    histogram: KnownHistogram | None = None,
    count: str = "auto",
) -> KeyPlan:
    """Count the keys of a frame and plan for them, to be used again and kept in a file.

    Parameters
    ----------
    df, key
        The frame and its key.
    lanes
        Number of lanes, 1 or more; by default as many as there are task slots, and more where the
        frame has more than 128 MB for each.
    partitioner, parameters
        Name of a planner with its parameters, or a planner.
    split
        Whether heavy keys may be split. Functions of whole groups do not take such a plan.
    histogram
        What is known of the keys, in place of a count: for instance learned seconds.
    count
        Which rows are counted: "auto", "all" or only the "first" ones; see `repartition`.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user, id from range(100)")
    >>> known = tt.plan_keys(clicks, "user", lanes=4)
    >>> round(known.expected, 2), round(known.fit(clicks, "user"), 2)
    (2.4, 1.0)
    """
    keys = key_columns(df, key)
    route = route_of(
        df,
        keys,
        default_lanes(df) if lanes is None else lanes,
        partitioner,
        split=split,
        parameters=parameters,
        histogram=known_histogram(histogram),
        count=count,
    )
    if route.plan is None or route.histogram is None:
        raise InvalidArgument(
            f"partitioner {route.name!r} makes no plan from counted keys; use 'trim' or 'kip'"
        )
    return KeyPlan(_identity(keys), route.plan, route.histogram)


def known_histogram(given: KnownHistogram | None) -> Histogram | None:
    """Return a histogram that was given as such or by the file that `Histogram.save` wrote."""
    if given is None or isinstance(given, Histogram):
        return given
    if isinstance(given, str | Path):
        return Histogram.read(given)
    raise InvalidArgument(
        f"histogram must be a Histogram or the path of a saved one; got {type(given).__name__}"
    )


@dataclass(frozen=True, eq=False)
class KnownPlan:
    """A plan that was given, as routes take it; `histogram` is None where it is not known."""

    plan: Plan
    histogram: Histogram | None


def known_plan(given: GivenPlan, df: DataFrame, keys: KeyColumns) -> KnownPlan:
    """Return the plan that was given, or a new one if the frame no longer fits it.

    A plan with its keys must be for key columns of the same types. The first rows of the frame are
    looked at, if they are quick to have; a plan without its keys is taken as it is.
    """
    if isinstance(given, Plan):
        return KnownPlan(given, None)
    if isinstance(given, str | Path):
        given = KeyPlan.read(given)
    if not isinstance(given, KeyPlan):
        raise InvalidArgument(
            "plan must be a Plan, what plan_keys gives, or the path it was saved to; got "
            f"{type(given).__name__}"
        )
    kinds = [kind for _, kind in _identity(keys)], [kind for _, kind in given.key]
    if kinds[0] != kinds[1]:
        raise InvalidArgument(
            f"the plan is for keys of type {', '.join(kinds[1])}, the frame's are of type "
            f"{', '.join(kinds[0])}; make a plan for this frame with plan_keys"
        )
    fit = given._fit(df, keys.hash)
    if fit is None or fit <= FITS:
        return KnownPlan(given.plan, given.histogram)
    warnings.warn(
        f"the plan does not fit the frame any more: its first rows are {fit:.1f} times as lopsided "
        f"as expected, and {FITS:g} is allowed; the keys were counted and a new plan was made",
        PlanOutdated,
        stacklevel=3,
    )
    plan = given.plan
    route = route_of(df, keys, plan.lanes, "trim", split=plan.splits_keys)
    assert route.plan is not None
    return KnownPlan(route.plan, route.histogram)


def _identity(keys: KeyColumns) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, field.dataType.simpleString()) for field in keys.fields)
