"""The hash of a whole row, which decides the fragment of a split key that the row goes to.

Spark may run a task a second time. A row that then had another hash could go to another lane, and
come out of the operator twice or not at all. So what a second run is known to compute differently
does not count: the order of arrays and maps, and the last bits of floating-point numbers.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.spark.columns import collation, contains, hash_text, quoted, unique_fields
from trimtab.spark.spark_text import analyzed_plan, keeps_order

DOUBLE_BITS = 28
"""Leading bits of a double that count, of 53: about 8 digits. Times in seconds since 1970 still
differ every 8 seconds, so that rows which differ only in such a number are spread."""

FLOAT_BITS = 16
"""Leading bits of a float that count, of 24: nearly 5 digits."""

# Types of Spark 4.1 and later that have neither a hash nor a cast to text.
_OPAQUE: tuple[type[T.DataType], ...] = tuple(
    found
    for found in (getattr(T, name, None) for name in ("GeometryType", "GeographyType"))
    if found is not None
)

_WITHOUT_ORDER = (T.CalendarIntervalType, T.UserDefinedType)


def row_hash(df: DataFrame) -> Column:
    """Return a hash of the whole row: decides which fragment of a split key the row goes to.

    It follows from the row's own columns and the number of its input partition. Rows may come in
    any order, and equal rows are still spread as far as they come from different partitions.

    A task that runs again gives a row the same hash if it computes

    - the same values, or
    - the same values with the elements of arrays, and the entries of maps, in another order, or
    - a double that is off by n in its last place, save for a chance of about n in 2^25 that the two
      stand on different sides of a rounding: the first 28 bits count; or a float that is off by n
      in its last place, save for a chance of about n in 2^8: the first 16 bits count.

    Nothing is promised for a column that is another one every time (`rand`, `uuid`, the time of
    day), that numbers rows in the order in which they come (`monotonically_increasing_id`,
    `row_number` over equal rows), or that holds such numbers or lists as text, and for a row that
    comes from another input partition. Cache or write such a frame before it is laid out.
    """
    return F.expr(row_hash_text(df.schema))


PLACE_TEXT = "xxhash64(monotonically_increasing_id())"
"""The hash of a row's place: of its input partition and its number there, as SQL text."""


def spread_text(df: DataFrame) -> str:
    """Return, as SQL text, what decides the fragment of a split key that a row of `df` goes to.

    Where every partition has its rows in the same order whenever it is computed, the row's place
    does: rows that are equal in every column are spread, too, and a column that is another one
    every time does no harm. Elsewhere it is `row_hash`: rows may come in any order, and equal rows
    of a partition stay together.
    """
    return PLACE_TEXT if keeps_order(analyzed_plan(df)) else row_hash_text(df.schema)


def row_hash_text(schema: T.StructType) -> str:
    """Return the SQL text of `row_hash`."""
    columns = [
        _steady(quoted(field.name), field.dataType)
        for field in unique_fields(schema)
        if not contains(field.dataType, _OPAQUE)
    ]
    return hash_text([*columns, "spark_partition_id()"])


def _steady(text: str, kind: T.DataType, depth: int = 0) -> str:
    """Return the SQL text of a value that can be hashed, and that no second run changes."""
    if isinstance(kind, T.DoubleType):
        return _rounded(text, DOUBLE_BITS)
    if isinstance(kind, T.FloatType):
        return _rounded(f"cast({text} AS double)", FLOAT_BITS)
    if isinstance(kind, T.VariantType) or (isinstance(kind, T.StringType) and collation(kind)):
        return f"cast({text} AS string)"
    if isinstance(kind, T.MapType):
        entry = T.StructType().add("key", kind.keyType).add("value", kind.valueType)
        return _steady(f"map_entries({text})", T.ArrayType(entry), depth)
    if isinstance(kind, T.ArrayType):
        element = f"__trimtab_element_{depth}"
        inner = _steady(element, kind.elementType, depth + 1)
        elements = text if inner == element else f"transform({text}, {element} -> {inner})"
        ordered = not contains(kind.elementType, _WITHOUT_ORDER)
        return f"sort_array({elements})" if ordered else elements
    if isinstance(kind, T.StructType):
        fields = [f"{text}.{quoted(field.name)}" for field in kind.fields]
        steady = [
            _steady(part, field.dataType, depth)
            for part, field in zip(fields, kind.fields, strict=True)
        ]
        return text if steady == fields else f"struct({', '.join(steady)})"
    return text


def _rounded(text: str, bits: int) -> str:
    """Return the SQL text of a double, rounded to its first `bits` bits.

    The product is larger than the number by so many bits that the difference of the two, rounded
    to a double, loses the last ones; this is Veltkamp's way to split a number.
    """
    larger = f"{text} * {2 ** (53 - bits) + 1}D"
    return f"({larger} - ({larger} - {text}))"
