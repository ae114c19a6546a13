"""The contract of every operation of a stream: it says what it wants, the runner does it.

An operation turns frames into frames. It does not run, write, count or record anything: the runner
does that, for all operations alike and in one order, which can be read in `stream.runner`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.control.key_costs import KeySeconds
from trimtab.control.machines import LaneTimes
from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.store import Store
from trimtab.spark.columns import quoted
from trimtab.spark.counting.lane_clock import LaneClock
from trimtab.spark.counting.observed import Observed
from trimtab.spark.stream.batch import Batch


class Kept(Protocol):
    """What an operation keeps from batch to batch: a type of its own, held by the checkpoint."""

    def state(self) -> dict[str, Any]:
        """Return everything as JSON values and arrays."""
        ...


K = TypeVar("K", bound=Kept)


@dataclass(frozen=True)
class Nothing:
    """What an operation keeps that keeps nothing."""

    def state(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


@dataclass(frozen=True, eq=False)
class Running:
    """The batch that runs, as an operation sees it.

    Attributes
    ----------
    batch
        What users are told of it.
    schema, keys
        Type of the rows, and names of the key columns.
    hidden
        Columns of ours among them: parts of the key that the user gave as expressions.
    reduce_tasks
        Tasks that make the results; None where Spark decides.
    slots
        Tasks that run at once.
    counted_first
        Whether `batch.statistics` are this batch's own keys, counted before it runs.
    in_blocks
        Whether rows stay in the blocks that a receiver has made of them, by `batch.plan`.
    spark_watermark
        Spark's own watermark as the batch starts, in microseconds; None if it keeps none.
    time
        When Spark planned the batch, in milliseconds; it is the same when the batch runs again.
    store
        The checkpoint's store, for tasks that write files of their own.
    session
        The session of the batch.
    pieces
        Reads partial results that earlier batches, or this one, have left under some names, as
        frames of the given type.
    piece
        Reads one of them, in as few tasks as its size asks for.
    texts
        Reads the texts in one column of a piece, given its name, its type and the column.
    """

    batch: Batch
    schema: T.StructType
    keys: tuple[str, ...]
    hidden: tuple[str, ...]
    reduce_tasks: int | None
    slots: int
    counted_first: bool
    in_blocks: bool
    spark_watermark: int | None
    time: int
    store: Store
    session: SparkSession
    pieces: Callable[[Sequence[str], T.StructType], DataFrame]
    piece: Callable[[str, T.StructType], DataFrame]
    texts: Callable[[str, T.StructType, str], list[str]]

    @property
    def number(self) -> int:
        """Spark's number of the batch."""
        return self.batch.id

    @property
    def key_texts(self) -> list[str]:
        """The key columns as SQL text."""
        return [quoted(name) for name in self.keys]


@dataclass(frozen=True)
class Wanted:
    """How an operation wants the rows of a batch, and what is to be counted of them.

    Attributes
    ----------
    on_lanes
        Whether rows move to their lanes; otherwise they stay where the source has them.
    columns
        Columns to add before rows move, by name, as SQL text.
    counted
        Condition, as SQL text, of the rows that count; by default all.
    in_pieces
        Whether pieces are rows that were combined, and are counted then; pieces of an operation
        that makes its results in them are not.
    piece_keys
        The key columns of the pieces, as SQL text.
    heavy_from
        Number of rows from which on a key of a piece is named as hot, where that is known well
        enough; by default the rows themselves are looked at.
    beside
        Makes, of rows that know their lane and of the name of that column, what is to move: with
        further rows, for instance.
    tasks
        Number of tasks that make the pieces; None where Spark is to find it while it runs.
    """

    on_lanes: bool = True
    columns: Mapping[str, str] = field(default_factory=dict)
    counted: str | None = None
    in_pieces: bool = False
    piece_keys: tuple[str, ...] = ()
    heavy_from: int | None = None
    beside: Callable[[DataFrame, str], DataFrame] | None = None
    tasks: int | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a batch as the operation wanted them; `lane` is None if they did not move."""

    frame: DataFrame
    lane: str | None


@dataclass(frozen=True, eq=False)
class Results:
    """What goes to the sink.

    Attributes
    ----------
    frame
        The results; None if there are none.
    event
        What the event log says about them.
    clock
        Where the lanes' tasks say how long they took, if they are ours to time.
    counted
        Gives what the log says and only the sink's job can tell; it is called after that.
    tasks
        Number of tasks that make the results; None where Spark is to find it while it runs.
    """

    frame: DataFrame | None
    event: Mapping[str, Any] = field(default_factory=dict)
    clock: LaneClock | None = None
    counted: Callable[[], Mapping[str, Any]] = dict
    tasks: int | None = None


@dataclass(frozen=True, eq=False)
class Keeping(Generic[K]):
    """What is kept after a batch.

    Attributes
    ----------
    kept
        What the operation will be given in the next batch.
    event
        What the event log says about it.
    written
        Name and frame of further pieces, such as those that take the place of others.
    pieces
        Names of all pieces that are still needed; the runner removes the others.
    move_cost
        What moving all state would cost, in batches; None if there is none, or it is not known.
    keys
        Number of keys that have a state; None if there is no state.
    spent
        How long a user's function took for which keys; None if it was not measured.
    times
        When the lanes were worked on and where, if their tasks have told the operation.
    """

    kept: K
    event: Mapping[str, Any] = field(default_factory=dict)
    written: tuple[tuple[str, DataFrame], ...] = ()
    pieces: frozenset[str] = frozenset()
    move_cost: float | None = None
    keys: int | None = None
    spent: KeySeconds | None = None
    times: LaneTimes | None = None


class Operation(ABC, Generic[K]):
    """One kind of work on every batch.

    The runner calls `wants`, `pieces`, `results` and `keep`, in this order. An operation that
    combines rows first returns a frame from `pieces`; it is written, and only then are the figures
    of the batch known to `results` and `keep`. Without pieces `results` runs before them.
    """

    splits: ClassVar[bool]
    """Whether it can work with keys that are split over lanes."""
    keeps_state: ClassVar[bool] = False
    """Whether keys have state that has to move when the plan changes."""
    updates: ClassVar[bool] = False
    """Whether it knows the output mode "update"."""
    completes: ClassVar[bool] = False
    """Whether it knows the output mode "complete"."""

    @property
    def needs_heartbeat(self) -> bool:
        """Whether batches must run although no rows have come, since something may be due."""
        return False

    @property
    def uses_time_zone(self) -> bool:
        """Whether the session's time zone can change its results."""
        return False

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""

    @abstractmethod
    def start(self) -> K:
        """Return what is kept before the first batch."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> K:
        """Return what was kept, from its `state`; a KeyError or TypeError means damage."""

    def moves_rows(self, kept: K, slots: int) -> bool:
        """Tell, before a batch is planned, whether its rows will move to be level.

        `slots` is how many tasks run at once. Where rows stay, their keys are not looked at.
        """
        return True

    def wants(self, running: Running, kept: K) -> Wanted:
        """Say how the rows are wanted; by default on their lanes, as they are."""
        return Wanted()

    def pieces(self, running: Running, rows: Rows, kept: K) -> DataFrame | None:
        """Return rows combined to partial results; None where there is no such step.

        Where `Wanted.in_pieces` says so, the frame has the columns `n` (rows), `usable` (rows with
        a time), `latest` (time) and `pane`, null for rows that do not count, beside the operation's
        own.
        """
        return None

    @abstractmethod
    def results(self, running: Running, rows: Rows, kept: K, seen: Observed | None) -> Results:
        """Return what goes to the sink; `seen` is None for an operation without pieces."""

    @abstractmethod
    def keep(self, running: Running, kept: K, seen: Observed | None) -> Keeping[K]:
        """Return what is kept; `seen` is None if nobody has used the rows."""

    def clean(self, checkpoint: Checkpoint, number: int, kept: K) -> None:
        """Remove from the checkpoint what a restart after batch `number` cannot need."""
        return


class WithoutMemory(Operation[Nothing]):
    """An operation that keeps nothing from batch to batch."""

    def start(self) -> Nothing:
        """Return nothing."""
        return Nothing()

    def restore(self, state: dict[str, Any]) -> Nothing:
        """Return nothing."""
        return Nothing()

    def keep(self, running: Running, kept: Nothing, seen: Observed | None) -> Keeping[Nothing]:
        """Keep nothing."""
        return Keeping(kept)
