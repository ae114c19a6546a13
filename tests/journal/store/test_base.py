"""Which names a store takes, before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trimtab.errors import InvalidArgument
from trimtab.journal.store.local import LocalStore


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param("/etc/passwd", id="absolute"),
        pytest.param("../above", id="above the root"),
        pytest.param("a/../../b", id="above the root by a detour"),
        pytest.param("a/./b", id="a part that is nothing"),
        pytest.param("a//b", id="an empty part"),
        pytest.param("folder/", id="a folder"),
        pytest.param("a\nb", id="two lines"),
        pytest.param("a\x00b", id="the end of text in C"),
        pytest.param("half \ud83d", id="half a character"),
        pytest.param(".writing/x", id="among what is being written"),
        pytest.param(17, id="a number"),
        pytest.param(b"a", id="bytes"),
    ],
)
@pytest.mark.parametrize("verb", ["create", "read", "remove"])
def test_a_name_that_not_every_place_can_hold_is_refused(
    tmp_path: Path, verb: str, name: Any
) -> None:
    more = (b"",) if verb == "create" else ()
    with pytest.raises(InvalidArgument, match="name"):
        getattr(LocalStore(tmp_path / "ck"), verb)(name, *more)
    assert not (tmp_path / "ck").exists()


@pytest.mark.parametrize("prefix", ["/", "../", "a//", "a/../", "a\n"])
def test_a_prefix_that_begins_no_name_is_refused(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(InvalidArgument, match="is no name for a store"):
        LocalStore(tmp_path).list(prefix)


@pytest.mark.parametrize("data", ["text", bytearray(b"x"), None])
def test_content_that_is_not_bytes_is_refused(tmp_path: Path, data: Any) -> None:
    with pytest.raises(InvalidArgument, match="an object is made of bytes; got"):
        LocalStore(tmp_path).create("a", data)
