"""Cooperating Daltons: the protocol against its twin, its parts, and what cooperation is for."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.dalton import Dalton
from tests.reference.q_sync import Reducer
from tests.routers.streams import small_streams, zipf
from trimtab import hash_keys
from trimtab.control.q_sync import GlobalTable, QTableReducer, SyncMessage
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.routers.dalton import DaltonRouter

Batch = NDArray[np.uint64]


def carried(message: SyncMessage | GlobalTable) -> Any:
    """Send a message through JSON, as another process would get it."""
    as_lists = message.to_dict()
    as_lists["arrays"] = {name: array.tolist() for name, array in as_lists["arrays"].items()}
    return type(message).from_dict(json.loads(json.dumps(as_lists)))


@settings(max_examples=60)
@given(
    rounds=st.lists(
        st.tuples(small_streams(), small_streams(), st.booleans()), min_size=1, max_size=5
    ),
    lanes=st.integers(1, 7),
    partitioners=st.integers(1, 3),
    slides=st.integers(1, 3),
    heat=st.sampled_from([0.3, 1.0]),
    step=st.sampled_from([0.1, 1.0]),
)
def test_fast_equals_slow(
    rounds: list[tuple[Batch, Batch, bool]],
    lanes: int,
    partitioners: int,
    slides: int,
    heat: float,
    step: float,
) -> None:
    same = {"heat": heat, "step": step, "exploration": 0.3, "cooperate": True}
    numbers = range(partitioners)
    fast = [DaltonRouter(lanes, slides, 100, seed=i, **same) for i in numbers]  # type: ignore[arg-type]
    slow = [Dalton(lanes, slides, 100, seed=i, **same) for i in numbers]  # type: ignore[arg-type]
    reducer, twin = QTableReducer(lanes, partitioners, 100, heat=heat), Reducer(lanes, heat)

    def route(hashes: Batch) -> None:
        for i in numbers:
            part = hashes[
                i :: i + 1
            ]  # all, every second, every third: unlike, but with common keys
            assert fast[i].route(part).tolist() == slow[i].route(part.tolist())

    for prepare, wait, ended in rounds:
        route(prepare)
        told = twin.merge([s.sync_message() for s in slow])
        table = carried(reducer.merge([carried(f.sync_message()) for f in fast]))
        route(wait)
        if ended:
            for i in numbers:
                fast[i].advance()
                slow[i].advance()
        assert dict(zip(table.keys.tolist(), table.values.tolist(), strict=True)) == told["q"]
        assert dict(zip(table.keys.tolist(), table.until.tolist(), strict=True)) == told["until"]
        for i in numbers:
            fast[i] = DaltonRouter.restore(fast[i].state())
            fast[i].receive(table)
            slow[i].receive(**told)
        assert [f.hot_keys().tolist() for f in fast] == [s.hot_keys() for s in slow]
        if not ended:
            route(wait)
            for i in numbers:
                fast[i].advance()
                slow[i].advance()
        reducer = QTableReducer.restore(reducer.state())


def cooperating(count: int, lanes: int, interval: int, **more: Any) -> list[DaltonRouter]:
    return [
        DaltonRouter(lanes, stats_window=interval, cooperate=True, heat=1.0, seed=i, **more)
        for i in range(count)
    ]


def hashes_of(*keys_and_counts: tuple[int, int]) -> Batch:
    """Return a stream of these keys, each so often, evenly mixed."""
    keys, counts = zip(*keys_and_counts, strict=True)
    stream = np.repeat(np.array(keys, dtype=np.uint64), counts)
    return np.random.default_rng(0).permutation(stream)


# The reducer.


def message(
    top: dict[int, int],
    values: dict[int, list[float]] | None = None,
    records: int = 100,
    turn: int = 0,
    double: bool = False,
) -> SyncMessage:
    values = values or {}
    return SyncMessage(
        round=turn,
        records=records,
        double=double,
        keys=np.array(list(values), dtype=np.uint64),
        values=np.array(list(values.values()), dtype=np.float64).reshape(-1, 2),
        top_keys=np.array(list(top), dtype=np.uint64),
        top_counts=np.array(list(top.values()), dtype=np.int64),
        loads=np.array([60, 40], dtype=np.int64),
    )


def test_values_are_weighted_by_frequency_and_the_weights_add_up_to_one() -> None:
    table = QTableReducer(2, 2, 100, heat=1.0).merge(
        [message({7: 90}, {7: [-1.0, -2.0]}), message({7: 30}, {7: [-0.2, -2.0]})]
    )
    assert table.keys.tolist() == [7]
    assert table.values[0] == pytest.approx([-0.8, -2.0])  # a lane nobody tried stays at the worst


def test_who_has_no_values_has_no_say() -> None:
    reducer = QTableReducer(2, 3, 100, heat=1.0)
    table = reducer.merge([message({7: 60}, {7: [-0.4, -0.6]}), message({7: 95}), message({8: 1})])
    assert table.values.tolist() == [[-0.4, -0.6]]


def test_a_hot_key_without_values_starts_as_a_new_one() -> None:
    table = QTableReducer(2, 2, 100, heat=1.0).merge([message({7: 60}), message({7: 60})])
    assert table.values.tolist() == [[-2.0, -2.0]]


def test_values_of_a_key_unseen_in_this_round_count_alike() -> None:
    reducer = QTableReducer(2, 2, 100, heat=1.0)
    reducer.merge([message({7: 90}), message({7: 90})])
    quiet = [
        message({}, {7: [-0.5, -2.0]}, turn=1),
        message({}, {7: [-0.7, -1.0]}, turn=1),
    ]
    assert reducer.merge(quiet).values[0] == pytest.approx([-0.6, -1.5])


@pytest.mark.parametrize(
    ("counts", "hot"),
    [
        pytest.param(({7: 51}, {7: 50}), [7], id="more than a lane's share of all tuples is hot"),
        pytest.param(({7: 50}, {7: 50}), [], id="exactly a lane's share is not"),
        pytest.param(({7: 99}, {}), [], id="what is hot for one partitioner alone is not"),
        pytest.param(({7: 99}, {7: 2, 8: 98}), [7], id="frequencies add up over partitioners"),
    ],
)
def test_who_is_globally_hot(counts: tuple[dict[int, int], dict[int, int]], hot: list[int]) -> None:
    table = QTableReducer(2, 2, 100, heat=1.0).merge([message(top) for top in counts])
    assert table.keys.tolist() == hot
    assert table.records == 200
    assert table.loads.tolist() == [120, 80]


@pytest.mark.parametrize("z", [0.0, 0.5, 1.5])
def test_a_key_missing_from_a_list_was_seen_at_most_records_over_lanes_plus_one_times(
    z: float,
) -> None:
    r = cooperating(1, lanes=4, interval=500)[0]
    hashes = zipf(500, 5, z, seed=3)
    r.route(hashes)
    sent = r.sync_message()
    keys, counts = np.unique(hashes, return_counts=True)
    missing = counts[~np.isin(keys, sent.top_keys)]
    assert missing.size == 1
    assert missing[0] <= sent.records / (4 + 1)


def test_a_key_expires_two_windows_after_its_last_hot_round() -> None:
    reducer = QTableReducer(2, 1, 100, heat=1.0)
    until = []
    for turn, top in enumerate([{7: 80}, {7: 70}, {8: 70}, {8: 70}]):
        table = reducer.merge([message(top, turn=turn)])
        until.append(dict(zip(table.keys.tolist(), table.until.tolist(), strict=True)))
    assert until == [{7: 2}, {7: 3}, {7: 3, 8: 4}, {8: 5}]


@pytest.mark.parametrize(
    ("double", "idle", "worked", "interval"),
    [
        pytest.param(True, 0, 0, 200, id="a late answer doubles the interval"),
        pytest.param(True, 9, 1, 200, id="even where the reducer was idle"),
        pytest.param(False, 9, 1, 50, id="a reducer that waits longer than it works halves it"),
        pytest.param(False, 1, 9, 100, id="a busy one leaves it"),
        pytest.param(False, 5, 5, 100, id="a tie leaves it"),
    ],
)
def test_the_interval_adapts(double: bool, idle: float, worked: float, interval: int) -> None:
    reducer = QTableReducer(2, 2, 100, heat=1.0)
    messages = [message({}), message({}, double=double)]
    assert reducer.merge(messages, idle, worked).interval == interval


def test_the_interval_stays_within_its_limits() -> None:
    reducer = QTableReducer(2, 1, 100, shortest=30, heat=1.0)
    shrinking = [reducer.merge([message({})], idle=1).interval for _ in range(4)]
    assert shrinking == [50, 30, 30, 30]
    assert (
        QTableReducer(2, 1, 10, shortest=30, heat=1.0).merge([message({})], idle=1).interval == 10
    )
    assert QTableReducer(2, 1, 2**30, heat=1.0).merge([message({}, double=True)]).interval == 2**30


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([message({})], "expected 2 messages of one round"),
        ([message({}), message({}, turn=1)], r"rounds \[0, 1\]"),
    ],
    ids=["one is missing", "two rounds"],
)
def test_an_incomplete_round_is_refused(messages: list[SyncMessage], complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        QTableReducer(2, 2, 100, heat=1.0).merge(messages)


def test_messages_for_other_lanes_are_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"for \[2\] lanes; this reducer has 3"):
        QTableReducer(3, 1, 100, heat=1.0).merge([message({})])


def test_a_foreign_newer_or_damaged_state_is_refused() -> None:
    state = QTableReducer(2, 1, 100, heat=1.0).state()
    unequal = {"keys": np.zeros(2, dtype=np.uint64), "until": np.zeros(1, dtype=np.int64)}
    for damaged in (
        {},
        {**state, "version": 2},
        {**state, "arrays": {}},
        {**state, "arrays": unequal},
        {**state, "parameters": {"lanes": 0}},
    ):
        with pytest.raises(CorruptState):
            QTableReducer.restore(damaged)


# The router's side.


def test_top_keys_come_without_duplicates_even_when_a_key_became_hot_on_the_way() -> None:
    r = cooperating(1, lanes=4, interval=100)[0]
    reducer = QTableReducer(4, 1, 100, heat=1.0)
    stream = hashes_of((1, 60), (2, 20), (3, 10), (4, 5), (5, 5))
    r.route(stream)
    first = r.sync_message()
    r.receive(reducer.merge([first]))
    # Key 1 is in the table now; keys 6 and 7 become hot here, after some sightings as cold keys.
    r.route(hashes_of((1, 40), (6, 30), (7, 28), (3, 2)))
    second = r.sync_message()
    assert dict(zip(first.top_keys.tolist(), first.top_counts.tolist(), strict=True)) == {
        1: 60,
        2: 20,
        3: 10,
        4: 5,
    }
    assert second.top_keys.tolist() == [1, 6, 7, 3]
    assert second.top_counts.tolist() == [40, 30, 28, 2]
    assert {6, 7} <= set(second.keys.tolist())


def test_no_key_is_hot_before_the_first_answer() -> None:
    r = cooperating(1, lanes=4, interval=100)[0]
    hashes = np.full(1000, 6, dtype=np.uint64)
    assert set(r.route(hashes).tolist()) == {2}
    assert r.hot_keys().size == 0


def test_gathered_rewards_are_worth_what_learning_them_one_by_one_is() -> None:
    # One key on two lanes without exploration: every reward is -(0.5 x 0.5 + 0.5 x 0.5) = -0.5.
    r = cooperating(1, lanes=2, interval=10, exploration=0.0)[0]
    reducer = QTableReducer(2, 1, 10, heat=1.0)
    key = np.full(10, 4, dtype=np.uint64)
    r.route(key)
    r.receive(reducer.merge([r.sync_message()]))  # from here on, hot
    r.route(key[:3])
    answer = reducer.merge([r.sync_message()])
    learned = -0.5 - 1.5 * 0.9**3
    assert answer.values[0] == pytest.approx([learned, -2.0])
    r.route(key[:5])
    r.receive(answer)
    assert r.sync_message().values[0] == pytest.approx([-0.5 - 1.5 * 0.9**8, -2.0])


def test_rewards_between_message_and_answer_do_not_change_the_policy_yet() -> None:
    r = cooperating(1, lanes=8, interval=100, exploration=0.0)[0]
    reducer = QTableReducer(8, 1, 100, heat=1.0)
    r.route(np.full(100, 3, dtype=np.uint64))
    r.receive(reducer.merge([r.sync_message()]))
    assert not r.awaiting
    r.route(np.full(50, 3, dtype=np.uint64))
    before = r.sync_message()
    assert r.awaiting
    r.route(np.full(50, 3, dtype=np.uint64))
    values = r.state()["arrays"]["_values"][:1]
    assert values.tolist() == before.values.tolist()


def test_an_answer_that_came_late_is_told_in_the_next_message() -> None:
    r = cooperating(1, lanes=2, interval=100)[0]
    reducer = QTableReducer(2, 1, 100, heat=1.0)
    stream = np.arange(100, dtype=np.uint64)
    assert not r.sync_due
    r.route(stream)
    assert r.sync_due
    told = []
    for waited in (99, 100, 0):
        sent = r.sync_message()
        assert not r.sync_due
        told.append(sent.double)
        r.route(stream[:waited])
        r.receive(reducer.merge([sent]))
    told.append(r.sync_message().double)
    assert told == [False, False, True, False]
    assert reducer.interval == 200


def test_the_new_interval_holds_for_the_router() -> None:
    r = cooperating(1, lanes=2, interval=100)[0]
    reducer = QTableReducer(2, 1, 100, heat=1.0)
    r.receive(reducer.merge([r.sync_message()], idle=2, worked=1))
    r.route(np.arange(50, dtype=np.uint64))
    assert r.sync_due


def test_loads_of_the_others_are_known_after_the_answer() -> None:
    # Lane 0 is full elsewhere. A key that is at home there moves to lane 1 once that was tried.
    first, second = cooperating(2, lanes=2, interval=1000, exploration=0.2)
    reducer = QTableReducer(2, 2, 1000, heat=1.0)
    first.route(np.arange(10, 1810, 2, dtype=np.uint64))
    second.route(np.full(1000, 4, dtype=np.uint64))
    table = reducer.merge([first.sync_message(), second.sync_message()])
    assert table.keys.tolist() == [4]
    assert table.loads.tolist() == [1900, 0]
    first.receive(table)
    second.receive(table)
    lanes = second.route(np.full(1000, 4, dtype=np.uint64))
    assert np.bincount(lanes[200:], minlength=2)[1] > 600


@pytest.mark.parametrize(
    ("act", "complaint"),
    [
        (lambda r, t: (r.sync_message(), r.sync_message()), "not answered yet"),
        (lambda r, t: r.receive(t), "expected no answer; got the global table of round 0"),
        (lambda r, t: (r.sync_message(), r.receive(t), r.receive(t)), "expected no answer"),
        (
            lambda r, t: (r.sync_message(), r.receive(t), r.sync_message(), r.receive(t)),
            "expected round 1; got the global table of round 0",
        ),
    ],
    ids=["two messages at once", "an answer to nothing", "an answer twice", "an old answer"],
)
def test_the_protocol_is_kept(act: Any, complaint: str) -> None:
    r = cooperating(1, lanes=2, interval=100)[0]
    table = QTableReducer(2, 1, 100, heat=1.0).merge([message({})])
    with pytest.raises(InvalidArgument, match=complaint):
        act(r, table)


def test_an_answer_for_other_lanes_is_refused() -> None:
    r = cooperating(1, lanes=3, interval=100)[0]
    r.sync_message()
    with pytest.raises(InvalidArgument, match="has 2 lanes; this router has 3"):
        r.receive(QTableReducer(2, 1, 100, heat=1.0).merge([message({})]))


def test_a_dalton_that_works_alone_says_so() -> None:
    r = DaltonRouter(2)
    r.route(np.zeros(20_000, dtype=np.uint64))
    assert not r.sync_due
    with pytest.raises(InvalidArgument, match="make it with cooperate=True"):
        r.sync_message()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "trimtab.dalton-global"},
        {"version": 2},
        {"records": None},
        {"arrays": {}},
        {"top_keys": [7, 7]},
        {"top_counts": [1]},
        {"keys": [7, 7]},
        {"values": [[0.5]]},
        {"values": [0.5, 0.5]},
        {"values": [[float("nan"), 0.0]]},
    ],
    ids=str,
)
def test_a_damaged_message_is_refused(change: dict[str, Any]) -> None:
    whole = message({7: 90, 8: 5}, {7: [-1.0, -2.0]}).to_dict()
    assert SyncMessage.from_dict(whole).top_counts.tolist() == [90, 5]
    arrays = {name: part for name, part in change.items() if name in whole["arrays"]}
    rest = {name: part for name, part in change.items() if name not in arrays}
    with pytest.raises(CorruptState):
        SyncMessage.from_dict({**whole, "arrays": {**whole["arrays"], **arrays}, **rest})


def test_a_global_table_without_an_expiry_for_each_key_is_refused() -> None:
    whole = QTableReducer(2, 1, 100, heat=1.0).merge([message({7: 90})]).to_dict()
    whole["arrays"]["until"] = np.empty(0, dtype=np.int64)
    with pytest.raises(CorruptState, match="keys and until"):
        GlobalTable.from_dict(whole)


# What cooperation is for.

LANES = 16
BATCH = 500


def route_all(
    streams: list[Batch], mode: str, stats_window: int = 20_000, delay: int = 0
) -> tuple[Batch, NDArray[np.int32], int]:
    """Route streams side by side; give all tuples in order, their lanes, and how many keys split.

    `delay` is the number of batches between message and answer.
    """
    everything = np.stack(streams, axis=1).ravel()
    count = len(streams)
    if mode == "one":
        lanes = DaltonRouter(LANES, stats_window=stats_window, heat=1.0, seed=1).route(everything)
    else:
        routers = [
            DaltonRouter(
                LANES,
                stats_window=stats_window // count,
                cooperate=mode == "together",
                heat=1.0,
                seed=i,
            )
            for i in range(count)
        ]
        reducer = QTableReducer(LANES, count, stats_window // count, heat=1.0)
        routed = np.empty((streams[0].size, count), dtype=np.int32)
        answer, waited = None, 0
        for start in range(0, streams[0].size, BATCH):
            for i, r in enumerate(routers):
                routed[start : start + BATCH, i] = r.route(streams[i][start : start + BATCH])
            if all(r.sync_due for r in routers):
                answer, waited = reducer.merge([r.sync_message() for r in routers]), 0
            if answer is not None and waited == delay:
                for r in routers:
                    r.receive(answer)
                answer = None
            waited += 1
        lanes = routed.ravel()
    pairs = np.unique(np.stack([everything, lanes.astype(np.uint64)]), axis=1)
    split = int((np.unique(pairs[0], return_counts=True)[1] > 1).sum())
    return everything, lanes, split


def imbalance(lanes: NDArray[np.int32], parts: int = 1) -> float:
    """Return max/mean - 1 in the second half, as the mean over so many parts of it.

    The first half has what was hashed before the first answer, and the time to make up for it.
    """
    half = lanes[lanes.size // 2 :]
    loads = [np.bincount(part, minlength=LANES) for part in np.array_split(half, parts)]
    return float(np.mean([part.max() / part.mean() - 1 for part in loads]))


def test_keys_that_are_hot_for_one_partitioner_alone_are_not_split() -> None:
    # Four partitioners, each with a key of its own that holds 15 % of its tuples: above a lane's
    # share of 6.25 % there, below it (3.75 %) in all.
    rng = np.random.default_rng(1)
    streams = [
        np.where(rng.random(60_000) < 0.15, i, rng.integers(100, 10_000, 60_000)).astype(np.uint64)
        for i in range(4)
    ]
    split = {mode: route_all(streams, mode)[2] for mode in ("one", "alone", "together")}
    assert split == {"one": 0, "alone": 4, "together": 0}


@pytest.mark.parametrize("delay", [0, 2], ids=["at once", "after two batches"])
def test_cooperating_daltons_come_closer_to_one_than_isolated_ones_where_others_are_uneven(
    delay: int,
) -> None:
    # One partitioner has 40 keys of 2.5 %, none hot, two or three per lane: hashing puts five or
    # more on some lane, twice its share. The other has a key of 60 %. Who knows of the first can
    # fill its gaps with that key; who does not leaves half of its imbalance, 0.5 or more.
    rng = np.random.default_rng(1)
    few = hash_keys(rng.integers(1000, 1040, 100_000))
    hot = hash_keys(np.where(rng.random(100_000) < 0.6, 7, rng.integers(10_000, 20_000, 100_000)))
    one, alone, together = (
        imbalance(route_all([few, hot], mode, delay=delay)[1])
        for mode in ("one", "alone", "together")
    )
    assert alone > 0.4
    assert abs(together - one) < abs(alone - one) / 5


def test_cooperating_daltons_come_closer_to_one_than_isolated_ones_where_hot_keys_differ() -> None:
    streams = [zipf(100_000, 10_000, 1.5, seed=i + 1) for i in range(4)]
    one, alone, together = (route_all(streams, mode) for mode in ("one", "alone", "together"))
    assert abs(together[2] - one[2]) < abs(alone[2] - one[2])
    gap, isolated_gap = (abs(imbalance(x[1]) - imbalance(one[1])) for x in (together, alone))
    assert gap < isolated_gap / 5


def test_policies_do_not_run_to_one_lane_between_answers() -> None:
    # All partitioners see the same law and share one policy. Over pieces as short as the interval
    # the loads are as level as with one Dalton. Were loads taken to stand still between answers,
    # the top key's 38 % would be on few lanes at a time: 16 x 0.38 / 3 = 2 for three of them.
    streams = np.split(zipf(400_000, 10_000, 1.5, seed=3), 4)
    one = imbalance(route_all(streams, "one")[1], parts=10)
    together = imbalance(route_all(streams, "together")[1], parts=10)
    assert abs(together - one) < 0.3
