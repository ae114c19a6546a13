from __future__ import annotations

from trimtab.experiments.base import Finding, Panel, judged
from trimtab.experiments.chart import chart

ROWS = [
    {"x": x, "word": word, "y": float(x), "who": who, "seed": seed}
    for x, word in ((1, "few"), (2, "many"))
    for who in ("hash", "trim")
    for seed in (1, 2)
]
CLAIM = judged("Lanes are level", "1.0", "1.1", holds=False, reason="chance")


def test_numbers_give_lines_and_words_give_bars_and_runs_give_the_same_bytes() -> None:
    panels = (Panel("x", "y", "who", "lines"), Panel("word", "y", "who", "bars", {"seed": 1}, True))
    finding = Finding(ROWS, panels, (CLAIM,))
    first, second = chart(finding, "A title"), chart(finding, "A title")
    assert first.png == second.png
    assert first.png[:4] == b"\x89PNG"
    assert first.words == "A title. Lanes are level: 1.1"
