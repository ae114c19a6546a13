"""What every picture keeps to, found by walking the public names: a new one is tested at once."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.report.runs import batch, level, skewed
from trimtab.report import Run, pictures
from trimtab.report.pictures.canvas import Picture

PICTURES: dict[str, Callable[[list[Run]], Picture]] = {
    "lanes": pictures.lanes,
    "heat": pictures.heat,
    "hot_keys": lambda runs: pictures.hot_keys(runs[0]),
    "decisions": pictures.decisions,
    "times": lambda runs: pictures.times(runs, [1.5] * len(runs[0].batches)),
}
"""Each picture as a function of runs alone."""


def test_every_picture_is_tested_here() -> None:
    assert PICTURES.keys() == set(pictures.__all__) - {"Picture"}


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


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = (
        "import sys, trimtab.report.html, trimtab.report.pictures\n"
        "sys.exit('matplotlib' in sys.modules or 'pyspark' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
