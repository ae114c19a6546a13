from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import drift_histogram
from tests.sketches.streams import HOSTILE, Hashes, drifting, small_streams, true_counts, zipf
from trimtab.errors import InvalidArgument
from trimtab.sketches import DriftHistogram, global_top

FADES = st.sampled_from([0.0, 0.5, 0.75, 1.0])


def held(sketch: DriftHistogram) -> dict[int, float]:
    keys, weights = sketch.items()
    return dict(zip(keys.tolist(), weights.tolist(), strict=True))


def slow(
    batches: list[Hashes], soft: int, hard: int, deepest: int, fade: float, seed: int
) -> drift_histogram.DriftHistogram:
    twin = drift_histogram.DriftHistogram(soft, hard, deepest, fade, seed)
    for number, batch in enumerate(batches):
        if number:
            twin.advance()
        for key in batch.tolist():
            twin.add(key)
    return twin


def fast(batches: list[Hashes], *parameters: float) -> DriftHistogram:
    sketch = DriftHistogram(*parameters)  # type: ignore[arg-type]
    for number, batch in enumerate(batches):
        if number:
            sketch.advance()
        sketch.update(batch)
    return sketch


@given(
    batches=st.lists(small_streams(), min_size=1, max_size=4),
    soft=st.integers(1, 20),
    room=st.integers(1, 20),
    deepest=st.integers(0, 5),
    fade=FADES,
    seed=st.integers(0, 2**64 - 1),
)
def test_fast_equals_slow(
    batches: list[Hashes], soft: int, room: int, deepest: int, fade: float, seed: int
) -> None:
    twin = slow(batches, soft, soft + room, deepest, fade, seed)
    ours = fast(batches, soft, soft + room, deepest, fade, seed)
    assert held(ours) == twin.counters
    assert (ours.lost, ours.sampled, ours.step) == (twin.lost, twin.sampled, twin.step)


@pytest.mark.parametrize("stream", list(HOSTILE.values()), ids=list(HOSTILE))
def test_fast_equals_slow_on_hostile_streams(stream: Hashes) -> None:
    batches = [stream, stream[::-1], stream]
    twin = slow(batches, 10, 30, 3, 0.5, 9)
    assert held(fast(batches, 10, 30, 3, 0.5, 9)) == twin.counters


BOUND_STREAMS = {
    "Zipf 1.2": zipf(60_000, 8_000, 1.2),
    "mild skew": zipf(60_000, 8_000, 0.4),
    "no skew": zipf(60_000, 8_000, 0.0),
    "drift": drifting(60_000, 8_000, 1.5, every=15_000),
    **HOSTILE,
}


@pytest.mark.parametrize("soft", [1, 20, 200])
@pytest.mark.parametrize("stream", list(BOUND_STREAMS.values()), ids=list(BOUND_STREAMS))
def test_unsampled_counts_are_never_over_and_under_by_n_over_soft_plus_one_at_most(
    stream: Hashes, soft: int
) -> None:
    sketch = DriftHistogram(soft, deepest=0)
    sketch.update(stream)
    keys, true = true_counts(stream)
    found = held(sketch)
    estimates = np.array([found.get(key, 0.0) for key in keys.tolist()])
    most = stream.size / (soft + 1)
    assert (estimates <= true).all()
    assert (estimates >= true - most).all()
    assert sketch.lost <= most
    assert all(key in found for key in keys[true > most].tolist())
    assert sketch.distinct <= sketch.hard


@pytest.mark.parametrize("z", [0.0, 0.1, 0.3, 0.5], ids="Zipf {}".format)
def test_it_survives_mild_skew(z: float) -> None:
    """The authors' program shrinks its boundary to zero here and stops; ours goes on counting."""
    sketch = DriftHistogram(soft=64, deepest=6)
    for part in np.array_split(zipf(200_000, 50_000, z), 10):
        sketch.update(part)
        sketch.advance()
    assert 0 < sketch.distinct <= sketch.hard
    hot = np.full(20_000, 77, dtype=np.uint64)
    sketch.update(hot)
    keys, weights = sketch.items()
    assert keys[weights.argmax()] == 77


def test_samples_are_without_bias_and_as_scattered_as_stated() -> None:
    """200 seeds: their mean within four standard errors of the truth, their variance as stated."""
    stream = zipf(20_000, 5_000, 1.0)
    keys, true = true_counts(stream)
    hottest, count = int(keys[true.argmax()]), true.max()
    estimates = np.array(
        [held(fast([stream], 100, 400, 4, 0.5, seed))[hottest] for seed in range(200)]
    )
    bound = (2**4 - 1) * count
    assert abs(estimates.mean() - count) <= 4 * np.sqrt(bound / 200)
    # A variance of 200 draws scatters by 10 %: four of them.
    assert 0 < estimates.var() <= 1.4 * bound


def test_the_step_backs_off_above_the_soft_boundary_and_recovers_in_calm_batches() -> None:
    sketch = DriftHistogram(soft=10, hard=20, deepest=5)
    assert sketch.step == 1
    sketch.update(np.arange(5000, dtype=np.uint64))
    assert sketch.step == 32
    steps = []
    for _ in range(7):
        sketch.advance()
        sketch.update(np.full(200, 3, dtype=np.uint64))
        steps.append(sketch.step)
    assert steps == [32, 16, 8, 4, 2, 1, 1], "the first batch after the crossing is not calm yet"


def test_what_is_old_fades_so_that_drift_is_followed() -> None:
    sketch = DriftHistogram(soft=50, fade=0.5, deepest=0)
    old, new = np.full(1000, 1, dtype=np.uint64), np.full(300, 2, dtype=np.uint64)
    sketch.update(old)
    for _ in range(3):
        sketch.advance()
        sketch.update(new)
    found = held(sketch)
    assert found == {1: 125.0, 2: 300 + 150 + 75}
    assert sketch.total == 650.0
    assert sketch.sampled == 650.0


def test_with_no_memory_at_all_a_batch_starts_from_nothing() -> None:
    sketch = DriftHistogram(soft=5, fade=0.0)
    sketch.update(zipf(500, 100, 1.0))
    sketch.advance()
    assert (sketch.distinct, sketch.total, sketch.lost) == (0, 0.0, 0.0)


@given(
    left=small_streams(),
    right=small_streams(),
    soft=st.integers(1, 15),
    deepest=st.integers(0, 3),
)
def test_merging_equals_the_slow_merge(
    left: Hashes, right: Hashes, soft: int, deepest: int
) -> None:
    parameters = soft, 2 * soft, deepest, 0.5, 3
    merged = fast([left], *parameters).merge(fast([right], *parameters))
    assert held(merged) == slow([left], *parameters).merge(slow([right], *parameters))


def test_merging_keeps_the_bound_and_so_does_what_comes_after() -> None:
    soft = 100
    parts = np.array_split(drifting(80_000, 6_000, 0.9, every=20_000), 5)
    merged = DriftHistogram(soft, deepest=0)
    for part in parts[:4]:
        local = DriftHistogram(soft, deepest=0)
        local.update(part)
        merged = merged.merge(local)
    merged.update(parts[4])
    stream = np.concatenate(parts)
    keys, true = true_counts(stream)
    found = held(merged)
    estimates = np.array([found.get(key, 0.0) for key in keys.tolist()])
    assert (estimates <= true).all()
    assert (estimates >= true - stream.size / (soft + 1)).all()


def test_workers_find_the_global_top_together() -> None:
    stream = zipf(200_000, 20_000, 1.0)
    workers = []
    for part in np.array_split(stream, 8):
        worker = DriftHistogram(soft=256, deepest=2)
        worker.update(part)
        workers.append(worker)
    top = global_top(workers, k=10)
    keys, true = true_counts(stream)
    exact = keys[np.argsort(-true)][:10]
    assert len(top) == 10
    assert top.total == stream.size
    assert np.isin(exact[:8], top.hashes).all()
    # 16,000 tuples of the first key: four standard deviations, sqrt(3 x count), are 5.5 %.
    assert top.weights[0] == pytest.approx(true.max(), rel=0.055)


def test_a_global_histogram_of_nobody_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one part"):
        global_top([], k=3)
