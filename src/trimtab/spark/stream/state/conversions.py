"""Spark's own conversions between Arrow, pandas and Python, as its stateful functions have them.

They are not part of Spark's public interface, and stand in this file alone: a function must see the
values here that it sees in `applyInPandasWithState`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Self

import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import SparkSession
from pyspark.sql import types as T
from pyspark.sql.conversion import ArrowTableToRowsConversion, LocalDataToArrowConversion
from pyspark.sql.pandas.types import to_arrow_schema

from trimtab.errors import InvalidArgument

try:
    from pyspark.sql.conversion import ArrowArrayToPandasConversion, PandasToArrowConversion
except ImportError:  # before Spark 4.2; everything else works there
    ArrowArrayToPandasConversion = PandasToArrowConversion = None

# Before Spark 4.2 moments were of UTC by themselves.
_IN_UTC = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


def refuse_without_conversions(session: SparkSession) -> None:
    """Refuse a version of Spark that lacks what a function of pandas frames and a state needs."""
    if PandasToArrowConversion is None:
        raise InvalidArgument(
            f"apply_with_state needs Spark 4.2 or later, and this is {session.version}; "
            "apply_in_arrow_with_state, running, sessions and drop_duplicates do without"
        )


def refuse_without_arrow(schema: T.StructType, what: str) -> None:
    """Refuse fields whose types Spark cannot give to Python as Arrow."""
    for field in schema.fields:
        try:
            arrow_schema(T.StructType([field]))
        except PySparkTypeError as error:
            raise InvalidArgument(
                f"{what} {field.name!r} is of type {field.dataType.simpleString()}, which Spark "
                "cannot give to Python; cast it, for example to a number or a string"
            ) from error


@dataclass(frozen=True)
class Conversions:
    """How values are converted, as the session's settings say.

    Attributes
    ----------
    time_zone
        The session's time zone.
    safely
        Whether numbers that do not fit their type are refused.
    by_name
        Whether columns that a function gives are found by their names.
    extension_integers
        Whether whole numbers come as pandas' types that can hold gaps.
    integers_as_decimals
        Whether whole numbers may stand for decimals.
    """

    time_zone: str
    safely: bool
    by_name: bool
    extension_integers: bool
    integers_as_decimals: bool

    @classmethod
    def of(cls, session: SparkSession) -> Self:
        """Read the settings of a session."""

        def is_on(setting: str, default: str) -> bool:
            return str(session.conf.get(setting, default)).lower() == "true"

        return cls(
            str(session.conf.get("spark.sql.session.timeZone")),
            is_on("spark.sql.execution.pandas.convertToArrowArraySafely", "false"),
            is_on("spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName", "true"),
            is_on("spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype", "false"),
            is_on("spark.sql.execution.pythonUDF.pandas.intToDecimalCoercionEnabled", "false"),
        )

    def series(self, values: pa.Array | pa.ChunkedArray, field: T.StructField) -> pd.Series:
        """Return a column as Spark shows it to functions of pandas frames."""
        made = ArrowArrayToPandasConversion.convert(
            values,
            field.dataType,
            ser_name=field.name,
            timezone=self.time_zone,
            struct_in_pandas="dict",
            ndarray_as_list=False,
            prefer_int_ext_dtype=self.extension_integers,
            df_for_struct=False,
        )
        assert isinstance(made, pd.Series)
        return made

    def results(self, frames: Sequence[pd.DataFrame], schema: T.StructType) -> pa.RecordBatch:
        """Return what a function has given as rows of its schema, columns cast where needed."""
        return PandasToArrowConversion.convert(
            pd.concat(frames, ignore_index=True),
            schema,
            timezone=self.time_zone,
            safecheck=self.safely,
            arrow_cast=True,
            assign_cols_by_name=self.by_name,
            int_to_decimal_coercion_enabled=self.integers_as_decimals,
        )


def arrow_schema(schema: T.StructType) -> pa.Schema:
    """Return the Arrow types of Spark's; moments are of UTC whatever the session's zone is."""
    return to_arrow_schema(schema, **_IN_UTC)


def values_of(table: pa.Table, schema: T.StructType) -> list[tuple[Any, ...]]:
    """Return rows as Python tuples, with the values that Spark's states have."""
    made = ArrowTableToRowsConversion.convert(table, schema, return_as_tuples=True)
    return [tuple(row) for row in made]


def table_of(values: list[Any], schema: T.StructType) -> pa.Table:
    """Return Python tuples as rows; None becomes a row of nulls."""
    free = T.StructType([T.StructField(f.name, f.dataType, True) for f in schema.fields])
    if not values:
        return arrow_schema(free).empty_table()
    return LocalDataToArrowConversion.convert(values, free, use_large_var_types=False)
