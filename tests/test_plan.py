"""Plans: what they accept, how they route, what they report, and how they are written down."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import Histogram, Plan, hash_keys, planner
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.plan import CUT_SCALE, tail_by_host
from trimtab.workloads import zipf_ids


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Return a plan with whole and split keys, any hashes, and any hosts."""
    lanes = draw(st.integers(1, 6))
    lane = st.integers(0, lanes - 1)
    keys: dict[int, Any] = {}
    for key in draw(st.lists(st.integers(0, 2**64 - 1), max_size=8, unique=True)):
        targets = draw(st.lists(lane, min_size=1, max_size=lanes, unique=True))
        parts = [draw(st.integers(1, 9)) for _ in targets]
        keys[key] = [(t, p / sum(parts)) for t, p in zip(targets, parts, strict=True)]
    hosts = draw(st.one_of(st.none(), st.lists(lane, min_size=1, max_size=12)))
    return Plan(lanes, keys, hosts, maker=draw(st.sampled_from(["", "kip", "mine"])))


def slow_route(plan: Plan, key: int, row: int) -> int:
    """Follow the definition: the fragment whose share of the row hash's upper half holds it."""
    below = 0.0
    for lane, share in plan.fragments(key):
        below += share
        if (row >> 32) < round(below * CUT_SCALE):
            return lane
    return plan.fragments(key)[-1][0]


class TestMaking:
    def test_keys_are_sorted_and_fragments_stay_with_their_key(self) -> None:
        plan = Plan(4, {9: [(3, 0.25), (1, 0.75)], 2: 0, 5: 2})
        assert plan.keys.tolist() == [2, 5, 9]
        assert plan.starts.tolist() == [0, 1, 2, 4]
        assert plan.lane_of.tolist() == [0, 2, 3, 1]
        assert plan.shares.tolist() == [1, 1, 0.25, 0.75]
        assert plan.cuts.tolist() == [CUT_SCALE, CUT_SCALE, CUT_SCALE // 4, CUT_SCALE]
        assert plan.splits_keys
        assert len(plan) == 3

    def test_arrays_and_mappings_make_equal_plans(self) -> None:
        keys = np.array([9, 2, 5], dtype=np.uint64)
        flat = Plan.from_arrays(
            4,
            keys,
            np.array([0, 2, 3, 4], dtype=np.int32),
            np.array([3, 1, 0, 2], dtype=np.int32),
            np.array([0.25, 0.75, 1, 1]),
        )
        assert flat == Plan(4, {9: [(3, 0.25), (1, 0.75)], 2: 0, 5: 2})
        whole = Plan.whole_keys(4, keys, np.array([3, 0, 2], dtype=np.int32))
        assert whole == Plan(4, {9: 3, 2: 0, 5: 2})
        assert not whole.splits_keys

    def test_a_plan_without_keys_is_plain_hashing(self) -> None:
        keys = np.random.default_rng(1).integers(0, 2**64, 1000, dtype=np.uint64)
        assert (Plan(7).route(keys) == (keys % np.uint64(7)).astype(int)).all()

    def test_a_signed_long_is_the_same_key(self) -> None:
        plan = Plan(4, {-1: 3})
        assert plan == Plan(4, {2**64 - 1: 3})
        assert plan.fragments(-1) == plan.fragments(2**64 - 1) == [(3, 1.0)]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((0,), "lanes must be a whole number"),
            ((True,), "lanes must be a whole number"),
            ((2, {1: 2}), r"a key is sent to a lane outside 0\.\.1"),
            ((2, {1: -1}), r"a key is sent to a lane outside 0\.\.1"),
            ((2, {1: [(0, 0.5), (1, 0.4)]}), "add up to 1; got 0.9"),
            ((2, {1: [(0, 1.5), (1, -0.5)]}), r"shares must lie in \(0, 1\]"),
            ((2, {1: [(0, float("nan"))]}), r"shares must lie in \(0, 1\]"),
            ((2, {1: []}), "at least one fragment"),
            ((2, {1: 0.5}), "goes to a lane, or to a list"),
            ((2, {1: [(0.5, 1.0)]}), "goes to a lane, or to a list"),
            ((2, {1: (0, 1.0)}), "goes to a lane, or to a list"),
            ((2, {2**64: 0}), "a key hash must be a whole number"),
            ((2, {1.5: 0}), "a key hash must be a whole number"),
            ((2, {-1: 0, 2**64 - 1: 1}), "a key is twice in the plan"),
            ((2, {}, []), "hosts must be a non-empty list"),
            ((2, {}, [0.5]), "hosts must be a non-empty list"),
            ((2, {}, [[0, 1]]), "hosts must be a non-empty list"),
            ((2, {}, [0, 2]), r"a host is sent to a lane outside 0\.\.1"),
        ],
    )
    def test_bad_plans_are_refused(self, arguments: tuple[Any, ...], message: str) -> None:
        with pytest.raises(InvalidArgument, match=message):
            Plan(*arguments)

    @pytest.mark.parametrize(
        ("keys", "starts", "lane_of", "shares", "message"),
        [
            ([1, 1], [0, 1, 2], [0, 1], [1, 1], "twice"),
            ([1, 2], [0, 2], [0, 1], [1, 1], "one start per key"),
            ([1], [0, 1], [0, 1], [1.0], "one share per lane"),
            ([1, 2], [0, 0, 2], [0, 1], [1, 1], "at least one fragment"),
            ([1, 2], [0, 1, 1], [0, 1], [1, 1], "at least one fragment"),
            ([], [0], [0], [1.0], "belong to no key"),
            ([1.5], [0, 1], [0], [1.0], "64-bit key hashes"),
        ],
    )
    def test_bad_arrays_are_refused(
        self, keys: list[Any], starts: list[int], lane_of: list[int], shares: Any, message: str
    ) -> None:
        with pytest.raises(InvalidArgument, match=message):
            Plan.from_arrays(
                2,
                np.array(keys) if keys else np.empty(0, dtype=np.uint64),
                np.array(starts, dtype=np.int32),
                np.array(lane_of, dtype=np.int32),
                np.array(shares, dtype=float),
            )


class TestFinding:
    @given(plan=plans(), data=st.data())
    def test_keys_are_found_where_they_are(self, plan: Plan, data: st.DataObject) -> None:
        some = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([*plan.keys.tolist(), 0]))
        wanted = data.draw(st.lists(some, max_size=20))
        at, is_heavy = plan.find(np.array(wanted, dtype=np.uint64))
        known = plan.keys.tolist()
        assert is_heavy.tolist() == [key in known for key in wanted]
        assert [known[i] for i in at[is_heavy]] == [key for key in wanted if key in known]

    @given(plan=plans(), data=st.data())
    def test_pieces_are_the_fragments_of_each_key(self, plan: Plan, data: st.DataObject) -> None:
        some = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([*plan.keys.tolist(), 0]))
        keys = data.draw(st.lists(some, max_size=20))
        pieces = plan.pieces(np.array(keys, dtype=np.uint64))
        for i, key in enumerate(keys):
            mine = pieces.key == i
            pairs = zip(pieces.lane[mine].tolist(), pieces.share[mine].tolist(), strict=True)
            assert list(pairs) == plan.fragments(key)

    @given(plan=plans())
    def test_all_fragments_make_the_plan_again(self, plan: Plan) -> None:
        every = plan.all_fragments()
        assert every == {key: plan.fragments(key) for key in plan.keys.tolist()}
        assert Plan(plan.lanes, every, plan.hosts) == plan


class TestNeverChanging:
    @pytest.mark.parametrize("name", ["lanes", "keys", "hosts", "maker", "shares", "new"])
    def test_attributes_cannot_be_set(self, name: str) -> None:
        with pytest.raises(AttributeError, match="a plan never changes"):
            setattr(Plan(3), name, 1)

    @pytest.mark.parametrize("name", ["lanes", "keys", "new"])
    def test_attributes_cannot_be_taken_out(self, name: str) -> None:
        with pytest.raises(AttributeError, match="a plan never changes"):
            delattr(Plan(3), name)

    def test_what_is_worked_out_late_changes_nothing(self) -> None:
        plan = Plan(3, {1: 2})
        plan.route(plan.keys)
        assert plan.fingerprint == Plan(3, {1: 2}).fingerprint
        with pytest.raises(AttributeError, match="a plan never changes"):
            plan.fingerprint = "other"

    @pytest.mark.parametrize("name", ["keys", "starts", "lane_of", "shares", "cuts", "hosts"])
    def test_arrays_cannot_be_written(self, name: str) -> None:
        with pytest.raises(ValueError, match="read-only"):
            getattr(Plan(3, {1: 2}), name)[0] = 0

    def test_the_arrays_it_was_made_from_may_change_later(self) -> None:
        hosts, lane_of = np.array([0, 1]), np.array([1], dtype=np.int32)
        plan = Plan.whole_keys(2, np.array([7], dtype=np.uint64), lane_of, hosts)
        hosts[0], lane_of[0] = 1, 0
        assert plan.hosts.tolist() == [0, 1]
        assert plan.lane_of.tolist() == [1]

    def test_equality_and_hash_go_by_content_not_by_maker(self) -> None:
        one, same = Plan(3, {1: 2, 5: 0}, maker="a"), Plan(3, {5: 0, 1: 2}, maker="b")
        assert one == same
        assert hash(one) == hash(same)
        assert len({one, same}) == 1
        for other in (Plan(4, {1: 2, 5: 0}), Plan(3, {1: 2, 5: 1}), Plan(3, {1: 2}), Plan(3)):
            assert one != other
        assert Plan(3) != Plan(3, hosts=[0, 1, 2, 0, 1, 2])
        assert Plan(3) != "a plan"


class TestRouting:
    @given(plan=plans(), data=st.data())
    def test_routing_follows_the_definition(self, plan: Plan, data: st.DataObject) -> None:
        word = st.integers(0, 2**64 - 1)
        some = st.one_of(word, st.sampled_from([*plan.keys.tolist(), 0]))
        keys = data.draw(st.lists(some, max_size=30))
        rows = data.draw(st.lists(word, min_size=len(keys), max_size=len(keys)))
        lanes = plan.route(np.array(keys, dtype=np.uint64), np.array(rows, dtype=np.uint64))
        assert lanes.dtype == np.int32
        assert lanes.tolist() == [slow_route(plan, k, r) for k, r in zip(keys, rows, strict=True)]

    def test_a_row_goes_to_the_same_lane_whenever_it_is_routed(self) -> None:
        plan = Plan(4, {7: [(0, 0.25), (1, 0.25), (2, 0.5)]})
        rows = hash_keys(np.arange(1000))
        keys = np.full(1000, 7, dtype=np.uint64)
        once = plan.route(keys, rows)
        order = np.random.default_rng(2).permutation(1000)
        assert (plan.route(keys[order], rows[order]) == once[order]).all()
        assert (Plan.from_json(plan.to_json()).route(keys, rows) == once).all()

    @pytest.mark.parametrize("with_rows", [True, False])
    def test_shares_are_met_within_the_noise_of_a_fair_hash(self, with_rows: bool) -> None:
        shares = [0.5, 0.3, 0.15, 0.05]
        plan = Plan(4, {7: list(enumerate(shares))})
        n = 100_000
        rows = hash_keys(np.arange(n)) if with_rows else None
        got = np.bincount(plan.route(np.full(n, 7, dtype=np.uint64), rows), minlength=4)
        for count, share in zip(got, shares, strict=True):
            # Four standard deviations of a binomial.
            assert abs(count - n * share) < 4 * np.sqrt(n * share * (1 - share))

    def test_signed_hashes_as_spark_gives_them_route_alike(self) -> None:
        plan = Plan(5, {2**64 - 3: [(4, 0.5), (2, 0.5)]})
        keys = np.array([2**64 - 3, 2**63, 12], dtype=np.uint64)
        rows = np.array([2**64 - 1, 0, 5], dtype=np.uint64)
        signed = plan.route(keys.view(np.int64), rows.view(np.int64))
        assert (signed == plan.route(keys, rows)).all()

    def test_no_tuples_are_fine_and_unequal_lengths_are_not(self) -> None:
        assert Plan(3, {1: 1}).route(np.empty(0, dtype=np.uint64)).size == 0
        with pytest.raises(InvalidArgument, match="row_hashes must be one per hash; got 1 for 2"):
            Plan(3).route([1, 2], [1])
        with pytest.raises(InvalidArgument, match=r"hash the keys with trimtab\.hash_keys"):
            Plan(3).route(["ann"])


class TestNumbers:
    h = Histogram.from_counts({1: 40, 2: 30, 3: 10}, total=100, distinct=50)

    def test_loads_count_fragments_light_keys_and_the_tail(self) -> None:
        plan = Plan(2, {1: [(0, 0.25), (1, 0.75)]}, hosts=[0, 1, 1, 1])
        # 10 and 30 of key 1; keys 2 and 3 on hosts 2 and 3; a tail of 20, a quarter on host 0.
        assert plan.loads(self.h).tolist() == [10 + 5, 30 + 30 + 10 + 15]

    @given(plan=plans(), seed=st.integers(0, 99))
    def test_loads_are_what_routing_gives(self, plan: Plan, seed: int) -> None:
        rng = np.random.default_rng(seed)
        names = [*plan.keys.tolist(), *range(20)]
        hashes = np.array([names[i] for i in rng.integers(0, len(names), 200)], dtype=np.uint64)
        h = Histogram.from_hashes(hashes)
        loads = plan.loads(h)
        assert loads.sum() == pytest.approx(200)
        if not plan.splits_keys:
            routed = np.bincount(plan.route(hashes), minlength=plan.lanes)
            assert loads == pytest.approx(routed)

    def test_lane_shares_sum_to_one(self) -> None:
        plan = Plan(3, {1: [(0, 0.5), (2, 0.5)], 2: 1}, hosts=[2])
        shares = plan.lane_shares(np.array([1, 2, 99], dtype=np.uint64))
        assert shares.tolist() == [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 1]]

    def test_moved_counts_keys_fragments_and_hosts(self) -> None:
        before = Plan(2, {1: 0, 2: 1}, hosts=[0, 1, 0, 1])
        assert before.moved(before, self.h) == 0.0
        assert before.moved(Plan(2, {1: 1, 2: 1}, hosts=[0, 1, 0, 1]), self.h) == 0.4
        halved = Plan(2, {1: [(0, 0.5), (1, 0.5)], 2: 1}, hosts=[0, 1, 0, 1])
        assert before.moved(halved, self.h) == 0.2
        # Host 3 holds key 3 and a quarter of the tail of 20.
        assert before.moved(Plan(2, {1: 0, 2: 1}, hosts=[0, 1, 0, 0]), self.h) == 0.15

    @given(one=plans(), other=plans(), seed=st.integers(0, 99))
    def test_moved_is_a_symmetric_share(self, one: Plan, other: Plan, seed: int) -> None:
        keys = np.random.default_rng(seed).integers(0, 40, 100).astype(np.uint64)
        h = Histogram.from_hashes(keys, top=10, hosts=12)
        moved = one.moved(other, h)
        assert 0 <= moved <= 1
        assert moved == pytest.approx(other.moved(one, h))
        assert one.moved(one, h) == 0.0

    def test_moved_of_whole_keys_is_what_routing_says(self) -> None:
        hashes = hash_keys(zipf_ids(20_000, 500, 1.0, seed=3))
        h = Histogram.from_hashes(hashes)
        one, other = planner("kip", lanes=8).plan(h.top(8)), planner("scan", lanes=8).plan(h)
        expected = (one.route(hashes) != other.route(hashes)).mean()
        assert one.moved(other, h) == pytest.approx(expected)

    def test_hosts_without_a_common_measure_are_independent(self) -> None:
        h = Histogram.from_counts({}, total=100, distinct=1000)
        one, other = Plan(2, hosts=np.arange(1031) % 2), Plan(2, hosts=np.arange(1033) % 2)
        assert one.moved(other, h) == pytest.approx(0.5, abs=0.01)

    def test_nothing_moves_where_there_is_nothing(self) -> None:
        assert Plan(2, {1: 0}).moved(Plan(2, {1: 1}), Histogram.from_counts({1: 0})) == 0.0

    def test_tail_by_host_uses_measured_hosts_where_they_fit(self) -> None:
        hosts = [10.0, 20, 30, 44, 50, 60]
        h = Histogram.from_counts({9: 4}, total=214, distinct=99, host_weights=hosts)
        assert tail_by_host(h, 6).tolist() == [10, 20, 30, 40, 50, 60]
        assert tail_by_host(h, 3).tolist() == [50, 70, 90]
        assert tail_by_host(h, 12).tolist() == [5, 10, 15, 20, 25, 30] * 2
        assert tail_by_host(h, 4).tolist() == [52.5] * 4, "no common measure: taken as even"
        assert tail_by_host(h.top(0), 6).tolist() == hosts


class TestOtherLanes:
    def test_lanes_that_are_gone_wrap_round_and_fragments_that_meet_join(self) -> None:
        plan = Plan(4, {1: [(0, 0.5), (2, 0.3), (3, 0.2)], 2: 3}, hosts=[0, 1, 2, 3])
        assert plan.resized(2) == Plan(2, {1: [(0, 0.8), (1, 0.2)], 2: 1}, hosts=[0, 1, 0, 1])
        assert plan.resized(1) == Plan(1, {1: 0, 2: 0}, hosts=[0, 0, 0, 0])

    def test_more_lanes_change_nothing_but_their_number(self) -> None:
        plan = Plan(2, {1: [(1, 0.5), (0, 0.5)], 2: 1}, maker="kip")
        wider = plan.resized(5)
        assert (wider.lanes, wider.maker) == (5, "kip")
        keys = np.arange(100, dtype=np.uint64)
        assert (wider.lane_shares(keys)[:, :2] == plan.lane_shares(keys)).all()
        assert plan.resized(2) is plan

    @given(plan=plans(), lanes=st.integers(1, 8))
    def test_every_key_goes_to_its_old_lane_wrapped(self, plan: Plan, lanes: int) -> None:
        keys = np.array([*plan.keys.tolist(), 1, 2, 3], dtype=np.uint64)
        old, new = plan.lane_shares(keys), plan.resized(lanes).lane_shares(keys)
        wrapped = np.zeros_like(new)
        for lane in range(plan.lanes):
            wrapped[:, lane % lanes] += old[:, lane]
        assert new == pytest.approx(wrapped)

    @given(plan=plans())
    def test_by_falling_load_only_renumbers(self, plan: Plan) -> None:
        counts = {k: i + 1 for i, k in enumerate([*plan.keys.tolist(), 2**64 - 9])}
        h = Histogram.from_counts(counts, total=100, distinct=60)
        sorted_plan = plan.by_falling_load(h)
        loads = sorted_plan.loads(h)
        assert (np.diff(loads) <= 1e-9).all()
        assert sorted(loads.tolist()) == pytest.approx(sorted(plan.loads(h).tolist()))


class TestWords:
    def test_explain_names_heavy_keys_as_people_know_them(self) -> None:
        h = Histogram.from_counts({1: 30, 2: 60, 3: 10}, labels={1: "user=ann", 2: "user=bob"})
        plan = Plan(2, {1: 1, 2: [(0, 0.5), (1, 0.5)], 3: 0}, maker="prompt")
        assert plan.explain(h).splitlines() == [
            "plan prompt: 2 lanes, 3 keys placed one by one (1 split), 2 hosts for the rest",
            "expected max/mean 1.200",
            "  user=bob -> lane 0 (50%), 1 (50%)",
            "  user=ann -> lane 1 (100%)",
            "  0x0000000000000003 -> lane 0 (100%)",
        ]

    def test_explain_works_without_a_histogram_and_stops_in_time(self) -> None:
        text = Plan(2, dict.fromkeys(range(30), 0)).explain(most=4)
        assert text.splitlines()[0].startswith("plan by hand: 2 lanes, 30 keys")
        assert text.splitlines()[-1] == "  ... and 26 more keys"
        assert len(text.splitlines()) == 6
        assert "no weight yet" in Plan(2).explain(Histogram.from_counts({}))

    def test_the_representation_is_short_however_large_the_plan(self) -> None:
        plan = Plan(2, dict.fromkeys(range(3000), 0), maker="kip")
        assert repr(plan) == "Plan(lanes=2, keys=3000, hosts=2, maker='kip')"


def changed(**fields: Any) -> str:
    data = json.loads(Plan(4, {7: 2, 9: [(0, 0.5), (1, 0.5)]}).to_json())
    return json.dumps(data | fields)


class TestWritten:
    @given(plan=plans())
    def test_a_plan_survives_the_round_trip(self, plan: Plan) -> None:
        back = Plan.from_json(plan.to_json())
        assert back == plan
        assert back.maker == plan.maker
        for name in ("keys", "starts", "lane_of", "shares", "cuts", "hosts"):
            assert (getattr(back, name) == getattr(plan, name)).all()

    def test_equal_plans_have_equal_fingerprints_on_every_machine(self) -> None:
        assert Plan(2, {5: 1}).fingerprint == "b461c497f53689cf"

    def test_hashes_are_strings_so_that_no_reader_rounds_them(self) -> None:
        data = json.loads(Plan(2, {2**64 - 1: 1}).to_json())
        assert data["keys"] == ["18446744073709551615"]
        assert data["format"] == "trimtab.plan"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "ck/plan.json is damaged"),
            ("not json", "ck/plan.json is damaged"),
            (changed()[:-9], "ck/plan.json is damaged"),
            ("null", "ck/plan.json is damaged"),
            ("[1, 2]", "ck/plan.json is damaged"),
            ("{}", "ck/plan.json is damaged"),
            (changed(format="trimtab.state"), "ck/plan.json holds 'trimtab.state', not a plan"),
            (changed(version=2), "ck/plan.json has version 2; .*upgrade Trimtab"),
            (changed(version="x"), "ck/plan.json is damaged"),
            (changed(lanes=5), "fingerprint does not fit"),
            (changed(lanes=1), "damaged: .*outside"),
            (changed(lane_of=[2, 1, 0]), "fingerprint does not fit"),
            (changed(lane_of=[2, 0]), "ck/plan.json is damaged"),
            (changed(lane_of=[[2, 0, 1]]), "ck/plan.json is damaged"),
            (changed(shares=[1, 0.4, 0.5]), "damaged: .*add up to 1"),
            (changed(shares=[1, None, 0.5]), "ck/plan.json is damaged"),
            (changed(keys=["7"]), "ck/plan.json is damaged"),
            (changed(keys=["7", "x"]), "ck/plan.json is damaged"),
            (changed(keys=["7", "-9"]), "ck/plan.json is damaged"),
            (changed(keys=["7", "7"]), "damaged: .*twice"),
            (changed(keys=None), "ck/plan.json is damaged"),
            (changed(starts=[0, 9, 3]), "ck/plan.json is damaged"),
            (changed(starts=[[0, 1], [1, 3]]), "ck/plan.json is damaged"),
            (changed(hosts=[]), "ck/plan.json is damaged"),
            (changed(hosts=[1.5, 1, 2, 3]), "fingerprint does not fit"),
            (changed(fingerprint="0"), "fingerprint does not fit"),
        ],
        ids=range(26),
    )
    def test_a_damaged_foreign_or_newer_file_is_refused_by_name(
        self, text: str, message: str
    ) -> None:
        with pytest.raises(CorruptState, match=message):
            Plan.from_json(text, source="ck/plan.json")

    @given(
        field=st.sampled_from(["lanes", "keys", "starts", "lane_of", "shares", "hosts", "version"]),
        value=st.recursive(
            st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(),
            lambda inner: st.lists(inner, max_size=4),
            max_leaves=6,
        ),
    )
    def test_any_damage_to_a_field_is_noticed(self, field: str, value: Any) -> None:
        original = Plan(4, {7: 2, 9: [(0, 0.5), (1, 0.5)]})
        try:
            read = Plan.from_json(changed(**{field: value}))
        except CorruptState:
            return
        assert read == original
