from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from trimtab.spark.stream.state.merging import merged

NAN = math.nan
CASES = [
    ("sum", pa.int64(), [(1, 2, 3), (None, 2, 2), (1, None, 1), (None, None, None)]),
    ("sum", pa.float64(), [(0.5, 0.25, 0.75), (None, 1.0, 1.0)]),
    ("sum", pa.decimal128(38, 2), [(Decimal("1.10"), Decimal("2.20"), Decimal("3.30"))]),
    ("min", pa.string(), [("b", "a", "a"), (None, "x", "x")]),
    ("max", pa.float64(), [(1.0, NAN, NAN), (NAN, 1.0, NAN), (2.0, 1.0, 2.0), (None, NAN, NAN)]),
    ("min", pa.float64(), [(1.0, NAN, 1.0), (NAN, NAN, NAN)]),
    ("max", pa.bool_(), [(True, False, True), (None, False, False)]),
    ("bit_and", pa.int32(), [(6, 3, 2), (None, 3, 3)]),
    ("bit_or", pa.int16(), [(6, 3, 7)]),
    ("bit_xor", pa.int64(), [(6, 3, 5), (1, None, 1)]),
    ("every", pa.bool_(), [(True, False, False), (None, True, True)]),
    ("some", pa.bool_(), [(True, False, True), (None, False, False)]),
]


@pytest.mark.parametrize(("how", "kind", "rows"), CASES, ids=lambda given: str(given)[:20])
def test_two_partial_results_become_one(how: str, kind: pa.DataType, rows: list[Any]) -> None:
    old, new, wanted = (
        pa.chunked_array([pa.array(part, kind)]) for part in zip(*rows, strict=True)
    )
    found = merged(how, old, new)
    assert found.type == kind
    assert repr(found.to_pylist()) == repr(wanted.to_pylist())


def test_a_sum_that_does_not_fit_is_refused() -> None:
    most = pa.chunked_array([pa.array([2**63 - 1])])
    with pytest.raises(pa.ArrowInvalid, match="overflow"):
        merged("sum", most, most)
