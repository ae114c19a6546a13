from __future__ import annotations

from pathlib import Path

import pytest

from tests.receive.logs import lines, log, numbers
from trimtab import hash_keys, router
from trimtab.control.q_sync import QTableReducer
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.receive import Receiver
from trimtab.receive.log import Log
from trimtab.receive.partners import Partners
from trimtab.routers.dalton import DaltonRouter
from trimtab.workloads import zipf_ids


def dalton(seed: int) -> DaltonRouter:
    made = router("dalton", lanes=8, stats_window=500, cooperate=True, slides=1, seed=seed)
    assert isinstance(made, DaltonRouter)
    return made


def test_what_goes_through_files_is_what_a_reducer_would_say(tmp_path: Path) -> None:
    ids = hash_keys(zipf_ids(12_000, 300, 1.4, seed=1))
    through_files = [dalton(seed) for seed in (1, 2, 3)]
    directly = [dalton(seed) for seed in (1, 2, 3)]
    partners = [Partners(tmp_path, name, 3) for name in "abc"]
    reducer = QTableReducer(8, 3, 500, 500, directly[0].heat)
    for start in range(0, 12_000, 1500):
        for at in range(3):
            part = ids[start + 500 * at : start + 500 * at + 500]
            same = through_files[at].route(part).tolist() == directly[at].route(part).tolist()
            assert same, f"from {start} on"
        for _ in range(2):
            # The last to send makes the answer; the others find it when they look again.
            for each, made in zip(partners, through_files, strict=True):
                if made.sync_due or made.awaiting:
                    each.exchange(made)
        table = reducer.merge([made.sync_message() for made in directly])
        for made in directly:
            made.receive(table)
    assert through_files[0].hot_keys().size > 0
    assert partners[0].round == 8
    assert len(list((tmp_path / "rounds").iterdir())) == 4


def test_one_that_starts_again_goes_on_with_the_others(tmp_path: Path) -> None:
    ids = hash_keys(zipf_ids(20_000, 300, 1.4, seed=2))
    first, second = dalton(1), dalton(2)
    here, there = Partners(tmp_path, "a", 2), Partners(tmp_path, "b", 2)
    for start in range(0, 3000, 500):
        for each, made in ((here, first), (there, second), (here, first)):
            if each is there or not made.awaiting:
                made.route(ids[start : start + 500])
            each.exchange(made)
    assert here.round > 2
    # b has sent for the next round and dies before there is an answer.
    second.route(ids[:500])
    there.exchange(second)
    assert second.awaiting
    anew, again = dalton(3), Partners(tmp_path, "b", 2)
    assert again.round == there.round
    anew.route(ids[3000:3500])
    again.exchange(anew)
    first.route(ids[3500:4000])
    here.exchange(first)
    assert here.round == again.round + 1
    again.exchange(anew)
    assert (again.round, anew.awaiting) == (here.round, False)
    assert anew.hot_keys().tolist() == first.hot_keys().tolist()


def test_receivers_learn_together_and_every_row_is_in_one_batch(tmp_path: Path) -> None:
    ids = zipf_ids(8000, 200, 1.5, seed=3)
    logs = [
        Log.create(tmp_path / name, schema="k long, x long", key="k", blocks=8, planner="dalton")
        for name in "ab"
    ]
    often = {"stats_window": 500}
    receivers = [
        Receiver(
            place, partners=Partners(tmp_path / "together", name, 2), seed=at, parameters=often
        )
        for at, (place, name) in enumerate(zip(logs, "ab", strict=True))
    ]
    for start in range(0, 8000, 500):
        receivers[start // 500 % 2].take([lines(ids[start : start + 500], start)])
    for each in receivers:
        each.flush()
        each.close()
    assert sorted(numbers(logs[0]) + numbers(logs[1])) == list(range(8000))
    hot = [each.partitioner.router.hot_keys().tolist() for each in receivers]  # type: ignore[union-attr]
    assert hot[0]
    assert hot[0] == hot[1]


def test_a_dalton_without_partners_learns_alone(tmp_path: Path) -> None:
    place = log(tmp_path, planner="dalton")
    with Receiver(place) as alone:
        alone.take([lines(zipf_ids(8000, 200, 1.5, seed=3))])
        assert alone.partitioner.router.hot_keys().size > 0  # type: ignore[union-attr]


def test_partners_are_for_those_who_learn(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="'prompt' learns nothing from others"):
        Receiver(log(tmp_path), partners=Partners(tmp_path / "together", "a", 1))
    (tmp_path / "together" / "rounds" / "x").mkdir(parents=True)
    with pytest.raises(CorruptState, match="no round of receivers"):
        Partners(tmp_path / "together", "a", 1)
