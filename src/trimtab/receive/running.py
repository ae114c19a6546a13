"""A receiver with its clock: batches are frozen shortly before each interval ends, and released.

    |<------------- interval ------------->|
    |<------ (1 - slack) x interval ----->|| freeze, plan, write, release
    records of this batch ................|| records of the next one ........

Intervals are measured by the monotonic clock, which no setting of the time can move.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trimtab._checks import real, whole
from trimtab._format import write_whole
from trimtab.errors import StoreFailed, TrimtabError
from trimtab.receive.arrivals import Chunk
from trimtab.receive.intake import Receiver
from trimtab.receive.log import RATE, Log
from trimtab.receive.manifest import BatchManifest
from trimtab.receive.partners import Partners
from trimtab.receive.rate import Brake, SustainableRate

WAITING_BATCHES = 16
BATCH_BYTES = 256 << 20

Tell = Callable[[str], None]
"""Takes one sentence for people."""


class Running:
    """Freezes and releases the batches of a receiver, in a thread of its own.

    Sources ask `held` before they read, and `take` what they have read.

    Parameters
    ----------
    receiver
        Whose batches.
    slack
        Part of the interval that planning and writing may take, 0 to 0.5. A larger one makes it
        likelier that the batch is there when the interval ends, and records wait longer.
    waiting
        How many released batches may wait for Spark, 2 or more: it says that it is done with one
        when it begins the next. Beyond that nothing is read.
    batch_bytes
        Bytes at which a batch is frozen before its time. Memory is at most a few times as much.
    tell
        Hears what people should know: that reading stops, why, and that it goes on.
    on_release
        Hears of every batch that was released.
    """

    def __init__(
        self,
        receiver: Receiver,
        *,
        slack: float = 0.05,
        waiting: int = WAITING_BATCHES,
        batch_bytes: int = BATCH_BYTES,
        tell: Tell = lambda sentence: None,
        on_release: Callable[[BatchManifest], None] = lambda manifest: None,
    ) -> None:
        self.receiver, self.log = receiver, receiver.log
        self.slack = real("slack", slack, 0, 0.5)
        self.most_waiting = whole("waiting", waiting, 2)
        self.batch_bytes = whole("batch_bytes", batch_bytes, 1)
        self._tell, self._on_release = tell, on_release
        self.rate = SustainableRate(self.log.interval)
        self.failure: BaseException | None = None
        self._brake = Brake(time.monotonic())
        self._heard = -1
        self._rows: dict[int, int] = {}
        self._reasons: dict[str, str] = {}
        self._wake, self._stopping = threading.Condition(), False
        self._thread = threading.Thread(target=self._run, name="trimtab-heartbeat", daemon=True)

    @property
    def held(self) -> str:
        """Why nothing may be read now; empty if it may."""
        return next(iter(self._reasons.values()), "")

    def take(self, chunks: Sequence[Chunk]) -> float:
        """Let the receiver take chunks; return how many seconds to wait before more are read.

        Raises
        ------
        TrimtabError
            What ended the receiver, if it has ended; `StoreFailed` if nothing could be written.
        """
        if self.failure is not None:
            raise self.failure
        try:
            self.receiver.take(chunks)
        except StoreFailed as error:
            self._hold("disk", str(error))
            raise
        self._go_on("disk")
        if self.receiver.buffered_bytes > self.batch_bytes:
            with self._wake:
                self._wake.notify()
        if math.isinf(self.rate.rate):
            return 0.0
        records = sum(chunk.records for chunk in chunks)
        return self._brake.pause(records, self.rate.rate, time.monotonic())

    def start(self) -> None:
        """Begin the first interval."""
        self._thread.start()

    def stop(self, flush: bool = True) -> None:
        """Stop the clock; with `flush`, release what is here first."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()
        if flush and self.failure is None:
            self.beat(last=True)

    def _run(self) -> None:
        begun, interval = time.monotonic(), self.log.interval
        freeze_at = begun + (1 - self.slack) * interval
        while True:
            full = self._wait_until(freeze_at)
            if self._stopping:
                return
            try:
                self.beat()
            except BaseException as error:
                self.failure = error
                self._hold("failure", f"the receiver has stopped: {error}")
                return
            if not full:
                # Beats that were missed are not made up for: their records are in this batch.
                late = time.monotonic() - freeze_at
                freeze_at += interval * (1 + max(0, math.floor(late / interval)))

    def _wait_until(self, moment: float) -> bool:
        """Wait for the moment, or until the batch is full; return whether it is full."""
        with self._wake:
            while not self._stopping:
                left = moment - time.monotonic()
                if left <= 0:
                    return False
                if self.receiver.buffered_bytes > self.batch_bytes and not self.held:
                    return True
                self._wake.wait(left)
        return False

    def beat(self, last: bool = False) -> None:
        """Forget what Spark is done with, then freeze and release the batch, unless too many wait.

        Parameters
        ----------
        last
            Release even what was frozen before, and what came since.
        """
        self._hear_of_spark()
        if self.receiver.waiting() >= self.most_waiting:
            waiting = f"{self.most_waiting} batches wait for Spark: nothing is read until it is on"
            self._hold("waiting", waiting)
            return
        self._go_on("waiting")
        try:
            while self.receiver.freeze():
                manifest = self.receiver.release()
                if manifest is not None:
                    self._rows[manifest.batch] = manifest.rows
                    self._on_release(manifest)
                if not last:
                    break
        except StoreFailed as error:
            self._hold("disk", str(error))
            return
        self._go_on("disk")

    def _hear_of_spark(self) -> None:
        committed = self.log.committed()
        if committed.batch <= self._heard:
            return
        self._heard = committed.batch
        self.log.forget_committed()
        rows = committed.rows if committed.rows is not None else self._rows.get(committed.batch)
        # Spark says that a batch is done when it begins the next one, which no longer waits.
        waiting = sum(n for batch, n in self._rows.items() if batch > committed.batch + 1)
        self._rows = {batch: n for batch, n in self._rows.items() if batch > committed.batch}
        if rows is None or committed.seconds is None:
            return
        rate = self.rate.update(rows, committed.seconds, waiting)
        known = {"batch": committed.batch, "rows": rows, "seconds": committed.seconds}
        told = {"rate": None if math.isinf(rate) else rate, "waiting": waiting, **known}
        write_whole(self.log.path / RATE, json.dumps(told))

    def _hold(self, what: str, sentence: str) -> None:
        if what not in self._reasons:
            self._tell(sentence)
        self._reasons[what] = sentence

    def _go_on(self, what: str) -> None:
        if self._reasons.pop(what, None) is not None:
            self._tell("reading again")


@contextmanager
def receiver(
    path: str | Path,
    *,
    schema: str,
    key: str | Sequence[str],
    interval: float = 1.0,
    blocks: int = 8,
    planner: str = "prompt",
    name: str = "receiver",
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    partners: Partners | None = None,
    **running: Any,
) -> Iterator[Receiver]:
    """Run a receiver inside this process, for as long as the `with` block lasts.

    What was offered is released when the block ends, also by an exception.

    Parameters
    ----------
    path
        Directory of the log; one that is there goes on.
    schema, key, interval, blocks, planner
        See `Log`.
    name, parameters, seed, partners
        See `Receiver`.
    running
        `slack`, `waiting`, `batch_bytes`, `tell`: see `Running`.

    Examples
    --------
    >>> import tempfile
    >>> place = tempfile.mkdtemp()
    >>> with receiver(place, schema="k string, x long", key="k", interval=60.0) as r:
    ...     r.offer([{"k": "a", "x": 1}, {"k": "b", "x": 2}])
    2
    >>> Log.open(place).manifest(0).rows
    2
    """
    log = Log.create(
        path, schema=schema, key=key, interval=interval, blocks=blocks, planner=planner
    )
    with Receiver(log, name, parameters=parameters, seed=seed, partners=partners) as made:
        clock = Running(made, **running)
        clock.start()
        try:
            yield made
        finally:
            clock.stop()
        if isinstance(clock.failure, TrimtabError):
            raise clock.failure
