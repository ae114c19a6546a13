from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.report.pictures.canvas import Picture, batch_ticks, canvas, short


def test_a_picture_can_be_saved(tmp_path: Path) -> None:
    picture = Picture(b"some bytes", "a caption", "the same in words")
    assert picture.save(tmp_path / "lanes.png").read_bytes() == picture.png


def test_long_names_keep_both_ends() -> None:
    name = "/a/very/long/path/with/an/id/at/its/end/4711"
    assert short(name).startswith("/a/very")
    assert short(name).endswith("4711")
    assert len(short(name)) == 28
    assert short("brief") == "brief"


def test_panels_stand_side_by_side_and_nothing_global_is_set() -> None:
    from matplotlib import rcParams

    before = dict(rcParams)
    with canvas(4, 2, columns=3) as drawing:
        assert len(drawing.axes) == 3
        assert rcParams["axes.spines.top"] is False
    assert dict(rcParams) == before


@pytest.mark.parametrize(
    ("numbers", "labels"),
    [
        pytest.param([7, 8, 9], ["7", "8", "9"], id="each of a few batches"),
        pytest.param(
            list(range(100, 136)), [str(n) for n in range(100, 136, 3)], id="a dozen of many"
        ),
    ],
)
def test_batches_are_labelled_by_their_numbers(numbers: list[int], labels: list[str]) -> None:
    with canvas(4, 2) as drawing:
        axis = drawing.axes[0]
        batch_ticks(axis, numbers)
        assert [tick.get_text() for tick in axis.get_xticklabels()] == labels
        assert axis.get_xlabel() == "batch"
