from __future__ import annotations

import pytest

from trimtab import errors
from trimtab.errors import TrimtabError, UnknownName

ERRORS = [
    found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, TrimtabError) and found is not TrimtabError
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: str(error.__name__))
def test_every_error_is_ours_and_one_that_python_programmers_catch(
    error: type[TrimtabError],
) -> None:
    ours, built_in = error.__bases__
    assert ours is TrimtabError
    assert built_in.__module__ == "builtins"


def test_an_unknown_name_lists_the_known_ones_in_order() -> None:
    error = UnknownName("router", "cma", ["pkg", "cam"])
    assert str(error) == "unknown router 'cma'; known routers: cam, pkg"
