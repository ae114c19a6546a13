from __future__ import annotations

import pytest
from pyspark.sql import types as T

from tests.spark.stream.state.lanes import SHAPE, struct
from trimtab.errors import UnsupportedKeyType
from trimtab.spark.stream.state.shape import Shape, key_hashes


def test_our_columns_have_names_that_no_column_of_the_user_has() -> None:
    rows = struct(__trimtab_kind=T.LongType(), user=T.StringType())
    shape = Shape.of(rows, ["user"], ["name"], [], struct(n=T.LongType()))
    assert shape.kind == "__trimtab_kind_1"
    taken = Shape.of(rows, ["user"], ["name"], [], struct(n=T.LongType()), ["__trimtab_check"])
    assert taken.check == "__trimtab_check_1"
    assert shape.entries.names[4:] == ["key:name", "state:n"]
    assert shape.moved.names[-2:] == ["user", "__trimtab_state_0"]


def test_hidden_columns_are_not_shown() -> None:
    shape = Shape.of(SHAPE.rows, ["x"], ["x + 1"], ["x"], SHAPE.state)
    assert [field.name for field in shape.shown] == ["user", "ts"]


def test_nulls_count_in_the_second_hash_of_a_key() -> None:
    nested = T.ArrayType(T.LongType())
    _, check = key_hashes([T.StructField("a", T.LongType()), T.StructField("b", nested)])
    assert "`a` IS NULL" in check
    # Times inside of a key are written as those of UTC, whatever zone a later session has.
    assert "to_json(struct(`b`), map('ignoreNullFields', 'false', 'timeZone', 'UTC'))" in check


def test_floating_point_inside_of_a_key_is_refused() -> None:
    with pytest.raises(UnsupportedKeyType, match="array<double>"):
        key_hashes([T.StructField("a", T.ArrayType(T.DoubleType()))])
