"""A scenario in a TOML file: which data, which cluster, which partitioners to try on it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real, whole
from trimtab.control import Delegation
from trimtab.errors import InvalidArgument, TrimtabError
from trimtab.partitioners import make
from trimtab.routers import ROUTERS
from trimtab.simulate.reducers import Reducers
from trimtab.simulate.service import Service
from trimtab.simulate.signals import Signals
from trimtab.simulate.slots import Timeline
from trimtab.simulate.sources import Sources
from trimtab.simulate.stream import Cluster, stream

T = TypeVar("T")

EXAMPLE = """\
# What would my data do on 500 executors, 50 of them old?

[data]
path = "clicks.parquet"     # relative to this file; Parquet, CSV or JSON lines
key = ["user"]              # one column or several

[cluster]
lanes = 500
utilisation = 0.8           # how busy level lanes would be
slots = 60                  # time slots that the data are spread over
sources = 1                 # each has a router of its own
window = 1                  # slots per window
reducers = 8
fragment_seconds = 1e-6     # merging one part of a split key
law = "constant"            # of service times: constant, exponential or pareto
by_key = false              # whether a key's tuples all take the same time

[[cluster.slow]]            # lanes 0 to 49 have half the speed, all the time
lanes = 50
speed = 0.5

[[partitioner]]
name = "hash"

[[partitioner]]
name = "cg"
virtual = 20                # parameters of the partitioner
signals = true              # lanes say what they can carry, for cg
"""
"""A scenario that says what every line means."""

_CLUSTER = (
    *("lanes", "utilisation", "slots", "sources", "window", "reducers", "fragment_seconds"),
    *("law", "by_key", "tail", "seed", "slow"),
)


@dataclass(frozen=True)
class Slow:
    """Some lanes of another speed, from one slot on up to before another."""

    lanes: int
    speed: float
    since: int = 0
    until: int | None = None


@dataclass(frozen=True)
class Scenario:
    """What a scenario file says, checked.

    Attributes
    ----------
    path, key
        The data: a file, and its key columns.
    partitioners
        For each a name, its parameters, and whether lanes send it signals.
    lanes, utilisation, slots, sources, window, seed
        The cluster and its load.
    service, reducers
        What tuples and fragments cost; the service time is set so that level lanes are as busy as
        `utilisation` says.
    slow
        Lanes of other speeds.
    """

    path: Path
    key: tuple[str, ...]
    partitioners: tuple[tuple[str, dict[str, Any], bool], ...]
    lanes: int
    utilisation: float = 0.8
    slots: int = 60
    sources: int = 1
    window: int = 1
    seed: int = 0
    service: Service = field(default_factory=Service)
    reducers: Reducers = field(default_factory=Reducers)
    slow: tuple[Slow, ...] = ()

    def speeds(self, slot: int) -> NDArray[np.float64]:
        """Return the relative speed of each lane in a slot."""
        speeds = np.ones(self.lanes)
        first = 0
        for group in self.slow:
            if group.since <= slot and (group.until is None or slot < group.until):
                speeds[first : first + group.lanes] = group.speed
            first += group.lanes
        return speeds

    def run(self, keys: NDArray[np.uint64]) -> dict[str, Timeline]:
        """Run the data through each partitioner, spread evenly over the slots."""
        count = min(self.slots, keys.size)
        if count == 0:
            raise InvalidArgument(f"{self.path} has no rows; a simulation needs at least one")
        parts = np.array_split(keys, count)
        seconds = self.utilisation * self.lanes / max(part.size for part in parts)
        service = Service(
            seconds, self.service.law, self.service.by_key, self.service.tail, self.seed
        )
        found = {}
        for number, (name, parameters, signals) in enumerate(self.partitioners):
            cluster = Cluster(
                service,
                self.speeds,
                reducers=self.reducers,
                window=self.window,
                signals=Signals(Delegation()) if signals else None,
            )
            label = name if name not in found else f"{name} ({number + 1})"
            found[label] = stream(self._sources(name, parameters), parts, cluster)
        return found

    def _sources(self, name: str, parameters: dict[str, Any]) -> Sources:
        made = [_made(name, self.lanes, parameters, self.seed) for _ in range(self.sources)]
        return Sources(made if name in ROUTERS else made[0])


def _made(name: str, lanes: int, parameters: dict[str, Any], seed: int) -> Any:
    return make(name, lanes, parameters, kind="router" if name in ROUTERS else None, seed=seed)


def read_scenario(path: Path) -> Scenario:
    """Read a scenario; what is wrong in it is refused with its line and the reason."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidArgument(f"cannot read the scenario {path}: {error.strerror}") from error
    return _Reader(path, text).scenario()


class _Reader:
    """The text of a scenario, what it holds, and where in it each entry stands."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.lines = path, text.splitlines()
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidArgument(f"{path} is not a scenario: {error}") from error

    def scenario(self) -> Scenario:
        self._known("", self.data, ("data", "cluster", "partitioner"))
        data, cluster = self._table("data"), self._table("cluster")
        self._known("data", data, ("path", "key"))
        self._known("cluster", cluster, _CLUSTER)
        file = self._needed("data", data, "path", str)
        key = data.get("key")
        names = [key] if isinstance(key, str) else key
        if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
            self._refuse("data", "key", f"key must be a column or a list of them; got {key!r}")
        lanes = self._checked("cluster", cluster, "lanes", lambda v: whole("lanes", v, 1))

        def take(name: str, check: Callable[[Any], T], default: T) -> T:
            if name not in cluster:
                return default
            return self._checked("cluster", cluster, name, check)

        return Scenario(
            path=self.path.parent / file,
            key=tuple(names),  # type: ignore[arg-type]
            partitioners=self._partitioners(lanes),
            lanes=lanes,
            utilisation=take(
                "utilisation", lambda v: real("utilisation", v, 0, low_open=True), 0.8
            ),
            slots=take("slots", lambda v: whole("slots", v, 1), 60),
            sources=take("sources", lambda v: whole("sources", v, 1), 1),
            window=take("window", lambda v: whole("window", v, 1), 1),
            seed=take("seed", lambda v: whole("seed", v, 0), 0),
            service=Service(
                1.0,
                take("law", lambda v: Service(1.0, v).law, "constant"),
                take("by_key", lambda v: Service(1.0, by_key=v).by_key, False),
                take("tail", lambda v: Service(1.0, tail=v).tail, 1.5),
            ),
            reducers=Reducers(
                take("reducers", lambda v: Reducers(v).count, 1),
                take("fragment_seconds", lambda v: Reducers(1, v).fragment_seconds, 1e-6),
            ),
            slow=self._slow(cluster, lanes),
        )

    def _slow(self, cluster: dict[str, Any], lanes: int) -> tuple[Slow, ...]:
        groups = cluster.get("slow", [])
        made = []
        for index, group in enumerate(groups):
            where = "cluster.slow"
            self._known(where, group, ("lanes", "speed", "since", "until"), index)
            count = self._checked(where, group, "lanes", lambda v: whole("lanes", v, 1), index)
            speed = self._checked(
                where, group, "speed", lambda v: real("speed", v, 0, low_open=True), index
            )
            since = group.get("since", 0)
            until = group.get("until")
            made.append(Slow(count, speed, since, until))
        if sum(group.lanes for group in made) > lanes:
            self._refuse("cluster", "lanes", f"slow lanes must be at most the {lanes} lanes")
        return tuple(made)

    def _partitioners(self, lanes: int) -> tuple[tuple[str, dict[str, Any], bool], ...]:
        given = self.data.get("partitioner", [])
        if not isinstance(given, list) or not given:
            raise InvalidArgument(f"{self.path}: name at least one [[partitioner]]")
        made = []
        for index, entry in enumerate(given):
            name = self._needed("partitioner", entry, "name", str, index)
            parameters = {k: v for k, v in entry.items() if k not in ("name", "signals")}
            try:
                _made(name, lanes, parameters, 0)
            except TrimtabError as error:
                culprit = next((k for k in parameters if k in str(error)), "name")
                self._refuse("partitioner", culprit, str(error), index)
            signals = entry.get("signals", False)
            if signals is not False and (signals is not True or name != "cg"):
                self._refuse("partitioner", "signals", "signals = true is for cg", index)
            made.append((name, parameters, signals))
        return tuple(made)

    def _table(self, name: str) -> dict[str, Any]:
        found = self.data.get(name)
        if not isinstance(found, dict):
            raise InvalidArgument(f"{self.path}: a scenario needs a table [{name}]")
        return found

    def _known(
        self, table: str, entries: dict[str, Any], names: tuple[str, ...], index: int = 0
    ) -> None:
        for name in entries:
            if name not in names:
                allowed = ", ".join(names)
                self._refuse(table, name, f"unknown entry {name!r}; known: {allowed}", index)

    def _needed(
        self, table: str, entries: dict[str, Any], name: str, kind: type[T], index: int = 0
    ) -> T:
        value = entries.get(name)
        if not isinstance(value, kind):
            self._refuse(table, name, f"{name} must be given, as text; got {value!r}", index)
        return value  # type: ignore[return-value]

    def _checked(
        self,
        table: str,
        entries: dict[str, Any],
        name: str,
        check: Callable[[Any], T],
        index: int = 0,
    ) -> T:
        try:
            return check(entries.get(name))
        except InvalidArgument as error:
            self._refuse(table, name, str(error), index)
            raise

    def _refuse(self, table: str, name: str, reason: str, index: int = 0) -> None:
        line = self._line(table, name, index)
        raise InvalidArgument(f"{self.path}, line {line}: {reason}")

    def _line(self, table: str, name: str, index: int) -> int:
        """Return the line of an entry, or of its table where the entry is missing."""
        current, count, head = "", -1, 1
        for number, line in enumerate(self.lines, 1):
            header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
            if header:
                current = header[1]
                if current == table:
                    count += 1
                    head = number if count <= index else head
            elif (
                current == table and count == index and re.match(rf"\s*{re.escape(name)}\s*=", line)
            ) or (table == "" and re.match(rf"\s*{re.escape(name)}\s*=", line)):
                return number
            if header and table == "" and header[1].split(".")[0] == name:
                return number
        return head
