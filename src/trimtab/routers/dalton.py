"""Dalton: a contextual bandit for each hot key, hashing for the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import Index, kernel, mix64_int, reduce_range, word_at
from trimtab._parameters import LANES, SEED, OneOf, Parameter, Real, YesNo
from trimtab._table import locate
from trimtab.errors import InvalidArgument
from trimtab.routers._cold_keys import (
    EXACT,
    ColdKeys,
    count_in_map,
    count_in_sketch,
    forget_counts,
    stats_window_length,
    stats_window_parameter,
)
from trimtab.routers._dalton_batches import BatchDalton
from trimtab.routers._dalton_cooperation import CooperatingDalton, hot_threshold
from trimtab.routers._dalton_learner import (
    BEST,
    COUNT,
    FAN,
    UNTIL,
    Rows,
    add_row,
    forget_values,
    hold,
    look_through,
    reward,
    start_window,
)
from trimtab.routers._dalton_state import DRAWS, HOT, NOBODY, SEEN, THRESHOLD, WINDOW
from trimtab.routers._sliding_window import SLIDES

SIGHTINGS = 100
"""A default window shows a hot key this often, so that chance moves its count by a tenth."""

STATS_WINDOW = stats_window_parameter(SIGHTINGS)
STATISTICS = Parameter(
    "statistics", "auto", OneOf(("exact", "count-min", "auto")), "how cold keys are counted"
)
EXPLORATION = Parameter(
    "exploration", 0.1, Real(0, 1), "how often a hot tuple tries any lane; more splits more"
)
STEP = Parameter("step", 0.1, Real(0, 1, low_open=True), "how far a reward moves a value")
BALANCE = Parameter(
    "balance", 0.5, Real(0, 1), "weight of imbalance against fragmentation; more splits more"
)
HEAT = Parameter(
    "heat", 0.25, Real(0.001, 1000), "multiple of a fair share that is hot; more hashes more keys"
)
COOPERATE = Parameter(
    "cooperate", False, YesNo(), "whether it is one of several that exchange messages"
)


class DaltonRouter(BatchDalton):
    """Learn, for each hot key, which lanes are worth splitting it over; hash all other keys.

    A key becomes hot with the tuple that brings its count in the current statistics window to
    `heat x load / lanes`. It stays hot for the rest of that window and the next, so fewer than
    `2 x lanes / heat` keys are hot at once, besides those that `expect` names. All others are whole
    and routed as by `hash`. A tuple of a hot key goes to the lane with the largest value, or with
    probability `exploration` to any lane. Its reward
    `-(balance x imbalance + (1 - balance) x fragmentation)` then moves the value of that lane by
    `step`.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    slides
        Slides per window, 1 or more; `advance` ends a slide. With more slides, loads and fragments
        are remembered for longer.
    stats_window
        Tuples per statistics window, at least `heat x lanes`; None takes `100 x lanes / heat`, and
        10,000 at least. A longer one tells hot from cold more surely and follows drift more slowly.
    statistics
        How cold keys are counted: "exact" by a map that grows with the window's keys, "count-min"
        by a sketch of a fixed size, "auto" by whichever suits the number of distinct keys in the
        last window.
    exploration
        Probability that a hot tuple tries any lane, in [0, 1]. Raising it finds better lanes
        sooner and splits more.
    step
        How far one reward moves a value, in (0, 1]. Raising it forgets faster.
    balance
        Weight of imbalance against fragmentation in the reward, in [0, 1]. Raising it splits more.
    heat
        Multiple of a lane's fair share that makes a key hot, in [0.001, 1000]. 1 is the paper's.
        Lowering it levels moderately hot keys too and costs replicas, memory and time.
    cooperate
        Whether this is one of several partitioners that exchange messages through a
        `QTableReducer`. Then a message ends the statistics window, `stats_window` is the first
        interval between messages, and no key is hot before the first answer.
    seed
        Chooses the random decisions.

    Examples
    --------
    >>> import numpy as np
    >>> from trimtab import hash_keys
    >>> from trimtab.workloads import zipf_ids
    >>> stream = hash_keys(zipf_ids(200_000, 10_000, 1.5, seed=1))
    >>> r = DaltonRouter(lanes=16, seed=7)
    >>> loads = np.bincount(r.route(stream), minlength=16)
    >>> print(round(loads.max() / loads.mean() - 1, 2), r.hot_keys().size)
    0.0 9

    References
    ----------
    Dalton, Algorithm 1, Equations 3 to 5, Definition 3.3 and Section 3.3; Section 4.1 and
    Algorithm 2 for cooperation; Section 4.2 for the use of `split_keys`.

    Notes
    -----
    - The load of a statistics window is taken from the previous one in the paper. Ours lasts a
      fixed number of tuples, so its load is known beforehand, and keys are hot in the first window
      already. In cooperation the load is that of the last answer.
    - The tuple that makes a key hot goes to the hash lane: all values tie. Exploration starts with
      the next. A tie goes to the hash lane, then to the lowest lane.
    - Fragmentation is kept as the last slide in which each lane took the key, which tells the same
      as reference counts over a ring of bit vectors, for any number of lanes. It is only kept for
      keys that were hot within the window: any other key is on its hash lane alone.
    - Keys with a row in the Q-table are counted there, exactly, under all three `statistics`.
    - A key's fan-out has no other limit than the number of lanes.
    - The paper's `heat` is 1. Keys just below it are whole and hashed: two of them on one lane put
      that lane at twice the mean, however many tuples come. docs/papers/dalton.md has figures.
    - Section 3.4 says that a batch is seen before it is routed, and leaves open what follows from
      that. Here `expect` makes its hot keys hot at once, and where one of them is new, the bandit
      rehearses on a stream drawn from the counts. Keys that were hot before keep their values.
    - The paper's least reward is said to be -2; with weights that sum to one it is -1. The start
      at -2 keeps lanes that were never tried from looking good all the same.
    - In cooperation cold keys are counted exactly, since messages name the most frequent keys, and
      rewards use the loads of all partitioners. Between two answers the others are taken to route
      as this one does, in proportion to their tuples: they share its policy. Without that, all
      would run to the same empty lanes until the next answer. Rewards that arrive between message
      and answer are summed up per key and lane on the spot: paying them out gives what learning
      them one by one would have given.
    """

    name = "dalton"
    paper = "Dalton, Algorithm 1"
    splits_keys = True
    takes = (
        *(LANES, SLIDES, STATS_WINDOW, STATISTICS, EXPLORATION),
        *(STEP, BALANCE, HEAT, COOPERATE, SEED),
    )
    hashes_the_tail = True
    heeds_counts = True
    passes_to_learn = 4
    # With 4 passes it is still far from done.
    prediction_note = "likely too high: it learns for longer than the sample lasts"
    # The map tasks of a batch learn together.
    stream_parameters: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"cooperate": True, **CooperatingDalton.stream_parameters}
    )
    cost = "a count per tuple; for a hot key a look at each lane and a reward"
    state_in_words = "a table of hot keys"
    use_when = "the hot keys change and windows slide"
    complexity = 410

    def __init__(
        self,
        lanes: int,
        slides: int = 60,
        stats_window: int | None = None,
        statistics: str = "auto",
        exploration: float = 0.1,
        step: float = 0.1,
        balance: float = 0.5,
        heat: float = 0.25,
        cooperate: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(lanes, slides, seed)
        self.heat = self._check(HEAT, heat)
        self.stats_window = stats_window_length(
            self._check(STATS_WINDOW, stats_window), self.lanes, self.heat, SIGHTINGS
        )
        self.statistics = self._check(STATISTICS, statistics)
        self.exploration = self._check(EXPLORATION, exploration)
        self.step = self._check(STEP, step)
        self.balance = self._check(BALANCE, balance)
        self.cooperate = self._check(COOPERATE, cooperate)
        if cooperate and statistics == "count-min":
            raise InvalidArgument(
                "a cooperating Dalton must name its most frequent keys, which count-min cannot; "
                "take statistics='exact' or 'auto'"
            )
        self._allocate(interval=self.stats_window)
        self._clock[THRESHOLD] = hot_threshold(
            0 if cooperate else self.stats_window, self.lanes, self.heat
        )
        self._first_word = np.uint64(mix64_int(self.seed))

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return windows so short that a test passes many of them."""
        return ({"stats_window": 128},)

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        settings = _Settings(
            window=NOBODY if self.cooperate else self.stats_window,
            most_hot=NOBODY if self.cooperate else 2 * math.floor(self.lanes / self.heat),
            choose=self.statistics == "auto" and not self.cooperate,
            cut=np.uint64(self.exploration * 2**32),
            first_word=self._first_word,
            step=self.step,
            balance=self.balance,
            slide=self._slide,
            oldest=self._oldest,
            awaiting=self._awaiting,
            echo=self._echo,
        )
        done = 0
        while done < hashes.size:
            self._make_room()
            done = _route(
                (hashes, lanes, done),
                (self._loads, self._foreign, self._anchor - self._past),
                self._rows(),
                self._cold_keys(),
                self._clock,
                settings,
            )


class _Settings(NamedTuple):
    window: int
    most_hot: int
    choose: bool
    cut: np.uint64
    first_word: np.uint64
    step: float
    balance: float
    slide: int
    oldest: int
    awaiting: bool
    echo: float


@kernel
def _route(
    stream: tuple[NDArray[np.uint64], NDArray[np.int32], int],
    window_loads: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    rows: Rows,
    cold: ColdKeys,
    clock: NDArray[np.int64],
    settings: _Settings,
) -> int:
    """Route from a position on; stop early, and say where, when a table has no room left."""
    hashes, lanes, done = stream
    loads, foreign, anchor = window_loads
    counted, counts, counted_used = cold.table
    cells, flags, mode = cold.cells, cold.flags, cold.mode
    facts, runner_up, values, stamps = rows.facts, rows.runner_up, rows.values, rows.stamps
    credit, decay = rows.credit, rows.decay
    table_keys, table_slots, used = rows.table
    n = loads.size
    # Both are whole numbers, so that sums are exact and it does not matter where a batch is cut.
    total, since = np.int64(0), np.int64(0)
    for each in range(n):
        total += loads[each] + foreign[each]
        since += loads[each] - anchor[each]
    threshold, window, hot_keys = clock[THRESHOLD], clock[WINDOW], clock[HOT]
    seen, draws = clock[SEEN], np.uint64(clock[DRAWS])
    first_word, cut = settings.first_word, settings.cut
    step, balance, echo = settings.step, settings.balance, settings.echo
    slide, oldest = np.int32(settings.slide), np.int32(settings.oldest)
    for i in range(done, hashes.size):
        key = hashes[i]
        home = np.int64(key % np.uint64(n))
        lane: Index = home
        at = locate(table_keys, table_slots, key)
        row: Index = np.int64(table_slots[at])
        if row >= 0:
            facts[row, COUNT] += 1
            count = facts[row, COUNT]
        elif mode[0] == EXACT:
            count = count_in_map(counted, counts, counted_used, key)
        else:
            count = count_in_sketch(cells, flags, key, first_word)
        hot = row >= 0 and facts[row, UNTIL] >= window
        if hot:
            word = word_at(first_word, draws)
            draws += np.uint64(1)
            lane = facts[row, BEST]
            if (word & np.uint64(0xFFFFFFFF)) < cut:
                lane = reduce_range(word, np.uint64(n))
            if count >= threshold:
                facts[row, UNTIL] = max(facts[row, UNTIL], window + 1)
        elif count >= threshold and hot_keys < settings.most_hot:
            if row < 0:
                row = add_row(rows, at, key)
                facts[row, COUNT] = count
            forget_values(rows, row, home)
            facts[row, UNTIL] = window + 1
            hot_keys += 1
            hot = True
        loads[lane] += 1
        total += 1
        since += 1
        if row >= 0:
            hold(facts, stamps, row, lane, slide, oldest)
        if hot:
            load = loads[lane] + foreign[lane] + echo * (loads[lane] - anchor[lane])
            gain = reward(load, total + echo * since, facts[row, FAN], n, balance)
            if settings.awaiting:
                credit[row, lane] += step * (gain - credit[row, lane])
                decay[row, lane] *= 1.0 - step
            else:
                value = values[row, lane]
                value += step * (gain - value)
                values[row, lane] = value
                best = facts[row, BEST]
                if lane == best:
                    overtaken = value <= runner_up[row]
                else:
                    overtaken = value >= values[row, best]
                    runner_up[row] = max(runner_up[row], value)
                if overtaken:
                    look_through(facts, runner_up, values, row, home)
        lanes[i] = lane
        seen += 1
        done += 1
        if seen == settings.window:
            window += 1
            seen = 0
            hot_keys = start_window(rows, window, settings.oldest)
            forget_counts(cold, settings.choose)
        if 2 * counted_used[0] >= counted.size or used[0] == facts.shape[0]:
            break
    clock[DRAWS], clock[SEEN], clock[WINDOW], clock[HOT] = draws, seen, window, hot_keys
    return done
