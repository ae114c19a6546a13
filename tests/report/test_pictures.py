from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.report.runs import batch, level, skewed
from trimtab.errors import InvalidArgument
from trimtab.report import Run, pictures
from trimtab.report.pictures.canvas import Picture, short

PICTURES: dict[str, Callable[[list[Run]], Picture]] = {
    "lanes": pictures.lanes,
    "heat": pictures.heat,
    "hot_keys": lambda runs: pictures.hot_keys(runs[0]),
    "decisions": pictures.decisions,
    "times": lambda runs: pictures.times(runs, [1.5] * len(runs[0].batches)),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES.keys())
def test_the_same_runs_give_the_same_png_and_words_that_name_the_bound(
    draw: Callable[[list[Run]], Picture],
) -> None:
    picture = draw([skewed(), level()])
    width, height = struct.unpack(">II", picture.png[16:24])
    assert picture.png.startswith(b"\x89PNG")
    assert width > 800
    assert height > 300
    assert picture.png == draw([skewed(), level()]).png
    text = f"{picture.caption} {picture.words}".lower()
    assert any(word in text for word in ("bound", "least", "one lane's worth"))


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(Run("one lane", [batch(0, [9], seconds=1.0)]), id="one lane, one batch"),
        pytest.param(Run("quiet", [batch(0, [0, 0], seconds=0.0)]), id="no rows at all"),
        pytest.param(
            Run("wide", [batch(b, [1.0] * 100, seconds=1.0) for b in range(40)]),
            id="many lanes and many batches",
        ),
    ],
)
def test_odd_runs_can_be_drawn(run: Run) -> None:
    for draw in PICTURES.values():
        assert draw([run]).png


def test_bars_show_the_median_batch_unless_told() -> None:
    assert "batch 5, the median" in pictures.lanes([skewed(), level()]).caption
    told = pictures.lanes([skewed(), level()], at=2)
    assert "batch 7." in told.caption
    assert "heaviest lane 30" in told.words


def test_decisions_tell_their_reasons_and_how_many_there_are() -> None:
    words = pictures.decisions([skewed(), level()]).words
    assert "2 times in 3 batches" in words
    assert "first plan" in words
    assert "keep" not in words
    many = Run("x", [batch(b, [1, 1], changed=True, reason=f"r{b}") for b in range(20)])
    assert "and 12 more" in pictures.decisions([many]).words


def test_times_need_timed_batches() -> None:
    with pytest.raises(InvalidArgument, match="timed"):
        pictures.times([Run("x", [batch(0, [1, 1])])], [1.0])


def test_a_picture_can_be_saved(tmp_path: Path) -> None:
    picture = pictures.lanes([skewed()])
    assert picture.save(tmp_path / "lanes.png").read_bytes() == picture.png


def test_long_names_keep_both_ends() -> None:
    name = "/a/very/long/path/with/an/id/at/its/end/4711"
    assert short(name).startswith("/a/very")
    assert short(name).endswith("4711")
    assert len(short(name)) == 28
    assert short("brief") == "brief"


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = (
        "import sys, trimtab.report.html, trimtab.report.pictures\n"
        "sys.exit('matplotlib' in sys.modules or 'pyspark' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_heat_numbers_stand_only_on_hot_cells_of_small_maps() -> None:
    assert np.nanmax(skewed().heat()) == 2.0
    assert "1.25" in pictures.heat([skewed()]).caption
