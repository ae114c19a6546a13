from __future__ import annotations

import numpy as np
import pytest

from trimtab.workloads.rates import bursty_rate, constant_rate, instants, sinusoidal_rate


def test_all_rates_have_the_mean_that_was_asked_for() -> None:
    for rates in (
        constant_rate(400, 1000),
        sinusoidal_rate(400, 1000, swing=0.8, period=40),
        bursty_rate(4000, 1000, share=0.2, height=4.0, seed=1),
    ):
        assert rates.mean() == pytest.approx(1000, rel=0.03)


def test_a_sine_gives_back_its_swing_and_period() -> None:
    rates = sinusoidal_rate(400, 1000, swing=0.6, period=25)
    assert (rates.max() - rates.min()) / 2000 == pytest.approx(0.6, rel=0.01)
    spectrum = np.abs(np.fft.rfft(rates - rates.mean()))
    assert 400 / spectrum.argmax() == 25


def test_bursts_give_back_their_share_and_height() -> None:
    rates = bursty_rate(5000, 1000, share=0.1, height=6.0, seed=2)
    assert rates.max() / rates.min() == pytest.approx(6.0, rel=0.01)
    assert (rates == rates.max()).mean() == pytest.approx(0.1, abs=0.015)


def test_instants_follow_the_rate_inside_the_interval() -> None:
    times = instants(100_000, swing=0.5, phase=0.0)
    assert (np.diff(times) >= 0).all()
    assert times.min() >= 0.0
    assert times.max() < 1.0
    # The integral of 1 + sin / 2 over the first half is 1/2 + 1/(2 pi).
    assert (times < 0.5).mean() == pytest.approx(0.5 + 0.5 / np.pi, abs=0.001)
