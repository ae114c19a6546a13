from __future__ import annotations

import numpy as np
import pytest

from trimtab import Histogram, Plan, hash_keys, planner, router
from trimtab.control import AutoScaler
from trimtab.errors import InvalidArgument
from trimtab.metrics import max_over_mean
from trimtab.planners import Planner
from trimtab.routers import Router
from trimtab.simulate import Job, StageCosts, highest_rate, micro_batches
from trimtab.workloads import zipf_ids

KEYS = hash_keys(zipf_ids(80_000, 4_000, 1.2, seed=1)).reshape(4, 20_000)
BATCHES = [(keys, None) for keys in KEYS]
ONLY_ROWS = StageCosts(map_row=1e-5, map_key=0.0, reduce_row=0.0, reduce_fragment=0.0)


def prompt(n: int) -> Planner:
    return planner("prompt", lanes=n)


def hashed(n: int) -> Router:
    return router("hash", lanes=n)


def test_stages_cost_what_their_slowest_task_does() -> None:
    batch = micro_batches(hashed, BATCHES[:1], Job(costs=ONLY_ROWS)).batches[0]
    loads = np.bincount(router("hash", lanes=8).route(KEYS[0]), minlength=8)
    assert batch.block_sizes.tolist() == loads.tolist()
    assert batch.map_seconds == pytest.approx(1e-5 * loads.max())
    assert (batch.reduce_seconds, batch.split_ratio) == (0.0, 1.0)


def test_prompt_is_planned_from_the_batch_itself() -> None:
    found = micro_batches(prompt, BATCHES, Job(buckets="prompt"))
    for batch in found.batches:
        # Rows of split keys fall where their place's hash says: even up to chance.
        assert max_over_mean(batch.block_sizes) < 1.05
        # All values of a key meet in one bucket: the hottest has 1.8 of a bucket's fair share.
        assert max_over_mean(batch.bucket_sizes) < 2.5
        assert batch.split_ratio < 1.05


def test_a_key_is_reduced_in_one_place() -> None:
    for buckets in ("hash", "prompt"):
        batch = micro_batches(prompt, BATCHES[:1], Job(buckets=buckets)).batches[0]
        assert batch.bucket_sizes.sum() == KEYS[0].size
    # Every key of every bucket, counted once, is all keys.
    costs = StageCosts(0.0, 0.0, 0.0, 0.0, reduce_key=1.0)
    batch = micro_batches(prompt, BATCHES[:1], Job(buckets="prompt", costs=costs)).batches[0]
    assert batch.reduce_times.sum() == np.unique(KEYS[0]).size


def test_a_planner_of_the_reduce_stage_learns_from_the_batch_before() -> None:
    job = Job(buckets=planner("kip", lanes=8), state_bytes=1e6)
    found = micro_batches(lambda n: router("shuffle", lanes=n), BATCHES, job).batches
    plain = np.bincount(Plan(8).route(KEYS[0]), minlength=8)
    assert found[0].bucket_sizes.tolist() == plain.tolist()
    assert found[0].moved_bytes > 0
    counted = Histogram.from_hashes(KEYS[1])
    bound = max(1.0, counted.shares[0] * 8)
    assert max_over_mean(found[2].bucket_sizes) < 1.2 * bound


def test_time_based_blocks_follow_the_rate_inside_an_interval() -> None:
    def time_based(n: int) -> Router:
        return router("time", lanes=n, interval=1000)

    late = np.sqrt(np.arange(20_000) / 20_000)  # ever more tuples towards the end
    even = micro_batches(time_based, BATCHES[:1]).batches[0]
    rising = micro_batches(time_based, [(KEYS[0], late)]).batches[0]
    assert max_over_mean(even.block_sizes) < 1.01
    assert max_over_mean(rising.block_sizes) == pytest.approx(1.875, rel=0.02)


def test_a_batch_waits_for_the_one_before() -> None:
    found = micro_batches(hashed, BATCHES, Job(interval=0.02, costs=ONLY_ROWS)).batches
    assert found[0].waited == 0.0
    assert found[1].waited == pytest.approx(found[0].processing - 0.02)
    assert found[3].latency > found[0].latency


def test_back_pressure_turns_rows_away_until_batches_fit() -> None:
    job = Job(interval=0.02, costs=ONLY_ROWS, back_pressure=True)
    found = micro_batches(hashed, BATCHES * 4, job)
    assert not found.keeps_up
    assert found.processing[0] > 0.02
    assert found.processing[4:].max() < 0.024


def test_the_highest_rate_is_that_of_the_heaviest_block() -> None:
    def keeps_up(rate: float) -> bool:
        interval = KEYS.shape[1] / rate
        return micro_batches(hashed, BATCHES[:1], Job(interval=interval, costs=ONLY_ROWS)).keeps_up

    heaviest = np.bincount(router("hash", lanes=8).route(KEYS[0])).max()
    found = highest_rate(keeps_up, 1000.0, within=1e-3)
    assert found == pytest.approx(20_000 / (1e-5 * heaviest), rel=2e-3)


def test_a_scaler_adds_tasks_until_batches_fit() -> None:
    scaler = AutoScaler(2, 2, batches=1)
    found = micro_batches(prompt, BATCHES * 5, Job(interval=0.01, buckets="prompt"), scaler)
    assert found.processing[0] > 0.01
    assert found.processing[-1] <= 0.01
    assert found.batches[-1].map_tasks > 2


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidArgument, match="at least one batch"):
        micro_batches(hashed, [])
    with pytest.raises(InvalidArgument, match="buckets must be"):
        Job(buckets="kip")
    with pytest.raises(InvalidArgument, match="interval"):
        Job(interval=0.0)
