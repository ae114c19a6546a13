"""Dynamic Repartitioning's streaming experiment: how level planners are, and what state they move.

    python benchmarks/state_drift.py --small     # two rounds; the default
    python benchmarks/state_drift.py --full      # ten rounds, as in the paper

Keys that drift, 20 batches of 100,000, 20 lanes, a new plan for every batch, which is used on the
next one, and state that is as large as the rows of five batches: the paper's Figure 3. In every
round keys have other names. Figure 2 is the same with other numbers of lanes, without drift.
Figures 7 and 8, where lanes carry work and the work takes time, are shown by the lanes of the last
batch and by `keyed_state.py --only waits`. Only planners that keep keys whole take part. It needs
no Spark.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from machine import heading
from spark_runs import Results, options
from trimtab import Histogram, Plan, hash_keys, planner
from trimtab.metrics import max_over_mean
from trimtab.workloads import zipf_shares

SEED = 7
LANES, BATCHES, ROWS, KEYS = 20, 20, 100_000, 100_000
STATE_BATCHES = 5
MOVERS, TOP = 20, 500
"""Between two batches, so many pairs of the hottest keys trade places."""
LANE_COUNTS = (5, 10, 20, 40)
STYLES = {
    "hash": (":", "o"),
    "kip": ("--", "s"),
    "readj": ("-.", "^"),
    "redist": ((0, (5, 1)), "v"),
    "scan": ((0, (1, 1)), "D"),
    "mixed": ((0, (3, 1, 1, 1)), "x"),
    "trim": ("-", "*"),
}


def drifting(seed: int, movers: int = MOVERS) -> list[NDArray[np.uint64]]:
    """Draw all batches of a round, Zipf 1."""
    rng = np.random.default_rng((SEED, seed))
    names = hash_keys(rng.permutation(KEYS))
    cumulated = np.cumsum(zipf_shares(KEYS, 1.0))
    batches = []
    for _ in range(BATCHES):
        ranks = np.minimum(np.searchsorted(cumulated, rng.random(ROWS)), KEYS - 1)
        batches.append(names[ranks])
        for one, other in rng.integers(0, TOP, (movers, 2)):
            names[[one, other]] = names[[other, one]]
    return batches


class Follower:
    """Plans with one planner batch after batch, from the heaviest keys as DR counts them."""

    def __init__(self, name: str, lanes: int) -> None:
        # `trim` splits keys unless it is told not to; the others never do.
        self.planner = planner(name, lanes=lanes, **({"split": False} if name == "trim" else {}))
        self.plan = Plan(lanes)

    def follow(self, batch: NDArray[np.uint64]) -> Plan:
        """Take a batch in; return the plan that was left."""
        top, hosts = 2 * self.planner.lanes, self.planner.hosts or None
        before = self.plan
        self.plan = self.planner.plan(Histogram.from_hashes(batch, top=top, hosts=hosts), before)
        return before

    def loads(self, batch: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the rows that each lane gets of a batch."""
        return np.bincount(self.plan.route(batch), minlength=self.planner.lanes)


def follow_drift(
    rounds: int,
) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]], dict[str, list[float]]]:
    """Return, by planner: max/mean and share of state moved, batch by batch, and the last lanes."""
    levels = {name: np.zeros((rounds, BATCHES - 1)) for name in STYLES}
    moved = {name: np.zeros((rounds, BATCHES - 1)) for name in STYLES}
    lanes: dict[str, list[float]] = {}
    for seed in range(rounds):
        batches = drifting(seed)
        exact = [Histogram.from_hashes(batch) for batch in batches]
        for name in STYLES:
            follower = Follower(name, LANES)
            for i in range(BATCHES - 1):
                before = follower.follow(batches[i])
                window = exact[max(0, i + 1 - STATE_BATCHES) : i + 1]
                state = window[0].merge(*window[1:]) if len(window) > 1 else window[0]
                moved[name][seed, i] = before.moved(follower.plan, state)
                loads = follower.loads(batches[i + 1])
                levels[name][seed, i] = max_over_mean(loads)
            lanes[name] = (np.sort(loads)[::-1] / loads.mean()).tolist()
    return levels, moved, lanes


def by_lanes(rounds: int) -> dict[str, list[float]]:
    """Return max/mean of a second batch of the same law, by planner and number of lanes."""
    found: dict[str, list[float]] = {name: [] for name in STYLES}
    for lanes in LANE_COUNTS:
        ratios: dict[str, list[float]] = {name: [] for name in STYLES}
        for seed in range(rounds):
            first, second = drifting(seed, movers=0)[:2]
            for name in STYLES:
                follower = Follower(name, lanes)
                follower.follow(first)
                ratios[name].append(max_over_mean(follower.loads(second)))
        for name, values in ratios.items():
            found[name].append(float(np.mean(values)))
    return found


def draw(
    levels: dict[str, NDArray[np.float64]],
    moved: dict[str, NDArray[np.float64]],
    lanes: dict[str, list[float]],
    counts: dict[str, list[float]],
    path: Path,
) -> None:
    """Draw the four; line styles and marks tell planners apart, not colours alone."""
    figure = Figure(figsize=(12, 8), layout="constrained")
    (level, share), (parallel, last) = figure.subplots(2, 2)
    for number, (name, (line, mark)) in enumerate(STYLES.items()):
        style = {"linestyle": line, "marker": mark, "markersize": 4, "label": name}
        style["color"] = f"C{number}"
        level.plot(levels[name].mean(axis=0), **style)
        if name != "hash":
            share.plot(100 * np.maximum(moved[name].mean(axis=0), 1e-4), **style)
        parallel.plot(LANE_COUNTS, counts[name], **style)
        last.plot(lanes[name], **style)
    bound = LANES * float(zipf_shares(KEYS, 1.0)[0])
    level.axhline(bound, color="black", linestyle="--", linewidth=1, label="heaviest key")
    least = [max(1.0, n * float(zipf_shares(KEYS, 1.0)[0])) for n in LANE_COUNTS]
    parallel.plot(LANE_COUNTS, least, color="black", linestyle="--", linewidth=1)
    level.set(title="How level the next batch is", xlabel="change of plan", ylabel="max/mean")
    share.set(title="State that moves", xlabel="change of plan", ylabel="%", yscale="log")
    parallel.set(title="How level by number of lanes", xlabel="lanes", ylabel="max/mean")
    last.set(title="Lanes of the last batch", xlabel="lanes, fullest first", ylabel="load/mean")
    for axes in (level, share, last):
        axes.xaxis.get_major_locator().set_params(integer=True)
    figure.legend(*level.get_legend_handles_labels(), loc="outside upper center", ncols=8)
    figure.savefig(path, dpi=100)


def main() -> None:
    given = options(__doc__, ["drift"])
    print(heading("State that drifts", SEED))
    results = Results("state_drift", SEED)
    rounds = 10 if given.full else 2
    levels, moved, lanes = follow_drift(rounds)
    counts = by_lanes(rounds)
    results.add(
        f"max/mean on the next batch, Zipf 1 that drifts, {LANES} lanes, {rounds} rounds",
        {name: float(level.mean()) for name, level in levels.items()},
        "hash",
        unit="max/mean",
    )
    results.add(
        "state that moves at the first change",
        {name: 100 * float(share[:, 0].mean()) for name, share in moved.items()},
        "kip",
        unit="%",
    )
    results.add(
        "state that moves at each later change",
        {name: 100 * float(share[:, 1:].mean()) for name, share in moved.items()},
        "kip",
        unit="%",
    )
    for at, count in enumerate(LANE_COUNTS):
        results.add(
            f"max/mean with {count} lanes, without drift",
            {name: values[at] for name, values in counts.items()},
            "hash",
            unit="max/mean",
        )
    results.pictures["drift"] = lambda path: draw(levels, moved, lanes, counts, path)
    results.keep(given.out)


if __name__ == "__main__":
    main()
