"""Whether the keys of a batch are looked at before its rows move: what it costs, what it saves.

A look costs a pass over the keys. Without one a batch follows a plan made from batches before it,
and takes longer where its keys are others. Both are measured on the stream itself: seconds of past
looks, and how much less level each batch was, or would have been, by such a plan.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from trimtab.spark.counting.look import Looked

KINDS = ("auto", "always", "never")

NO_LOOK, KEEP, READ_AGAIN, TOLD = "none", "rows kept", "keys read again", "told by the receiver"
"""What happens: no look; the rows are computed once and kept, for the look and for the batch; the
keys are computed for the look alone, and the batch computes its rows itself; or a receiver has
counted the keys as they came, so that there is nothing to look at."""

TRIED = 2
"""Looks of each kind that are made before the cheaper kind is chosen. The first of all warms up
whatever Spark has to compile."""

REMEMBERED = 5
"""Looks of each kind whose seconds are remembered."""

FADE = 0.9
"""What a surprise counts one batch later: what is expected is a mean over some ten batches."""

PRIOR = 0.2
"""After `n` batches without a surprise new keys are expected with a chance of `PRIOR / (n + 1)`:
less often than a short calm alone would allow, and never ruled out. Most streams stay as they are,
and those that do not are looked at again from their first surprise on."""

CALM = 0.1
"""A batch that takes longer than level by no more than this part, or than chance alone explains,
was no surprise: two batches of the same keys differ as much."""

AGREES = 0.15
"""How far max/mean may be above what a look that read the keys again has promised. Beyond that the
source gives other rows every time: rows are kept from then on."""


@dataclass(frozen=True)
class Look:
    """What was decided for a batch, and what came of it; part of its recorded course.

    Attributes
    ----------
    how
        `NO_LOOK`, `KEEP`, `READ_AGAIN` or `TOLD`.
    reason
        Why, in one sentence for people.
    seconds
        How long it took.
    rows
        Rows that were looked at.
    exact
        Whether these were all rows of the batch.
    promised
        max/mean that the plan has for what the look has shown; 0 without a look.
    """

    how: str = NO_LOOK
    reason: str = ""
    seconds: float = 0.0
    rows: int = 0
    exact: bool = False
    promised: float = 0.0

    @property
    def taken(self) -> bool:
        """Whether the keys of the batch are known before it runs."""
        return self.how != NO_LOOK

    def to_event(self) -> dict[str, Any]:
        """Return what the event log says of it."""
        shown: dict[str, Any] = {"how": self.how, "reason": self.reason}
        if self.how in (KEEP, READ_AGAIN):
            shown |= {"seconds": self.seconds, "rows": self.rows, "exact": self.exact}
        return shown

    def showed(self, looked: Looked, seconds: float) -> Self:
        """Return the same with what was seen."""
        return replace(self, seconds=round(seconds, 4), rows=looked.sampled, exact=looked.exact)


@dataclass(frozen=True)
class Outcome:
    """How level a batch was, and how level it could have been; all of them max/mean.

    Attributes
    ----------
    was
        With the plan it had.
    by_past
        With the plan that earlier batches alone would have given it.
    by_hash
        By plain hashing.
    best
        With a plan made for this very batch.
    seconds
        How long its rows were worked on.
    share_of_slots
        Task slots over lanes, at most 1. With few slots lanes take turns, and a full lane is made
        up for by others.
    noise
        How far chance alone may put max/mean above what the plan promises: which fragment of a
        split key a row goes to is a draw.
    """

    was: float
    by_past: float
    by_hash: float
    best: float
    seconds: float
    share_of_slots: float = 1.0
    noise: float = 0.0

    def time_units(self, max_over_mean: float) -> float:
        """Return how long a batch takes that is so level, over the time of a level one."""
        return max(1.0, max_over_mean * self.share_of_slots)


@dataclass(frozen=True)
class Looking:
    """What is known of looks and surprises after a batch.

    Attributes
    ----------
    kept, read_again
        Seconds of the newest looks of each kind.
    surprises, batches
        Sum of what surprises cost, in times of a level batch, and number of batches; both fade.
    calm
        Batches in a row without a surprise.
    ignorance
        What it would cost to know nothing of the keys of the newest batch.
    level_seconds
        Seconds that the newest batch would have taken, had it been level; without what every batch
        takes, however few its rows.
    blind
        Batches in a row of which nothing was seen: they were empty, or nobody used their rows.
    unsteady
        Whether the source was found to give other rows when it is read again.
    """

    kept: tuple[float, ...] = ()
    read_again: tuple[float, ...] = ()
    surprises: float = 0.0
    batches: float = 0.0
    calm: int = 0
    ignorance: float = 0.0
    level_seconds: float = 0.0
    blind: int = 0
    unsteady: bool = False

    @property
    def cheaper(self) -> str:
        """Which kind of look to take: each is tried first, then the one that costs less.

        Rows that are kept need not be computed again. Whoever reads the keys again pays for that a
        second time, and at least as much as for the look: kept rows may cost twice as much.
        """
        if self.unsteady or len(self.kept) < TRIED:
            return KEEP
        if len(self.read_again) < TRIED:
            return READ_AGAIN
        return KEEP if min(self.kept) <= 2 * min(self.read_again) else READ_AGAIN

    @property
    def look_seconds(self) -> float:
        """What a look is expected to cost: as much as the quickest, since others had to wait."""
        known = self.kept if self.cheaper == KEEP else self.read_again
        return min(known or self.kept or (0.0,))

    @property
    def surprise(self) -> float:
        """How much longer than level the next batch is expected to take without a look."""
        seen = self.surprises / self.batches if self.batches else 0.0
        return seen + PRIOR / (self.calm + 1) * self.ignorance

    def decide(self, asked: str) -> Look:
        """Say whether to look at the next batch; `asked` is one of `KINDS`."""
        if asked == "never":
            return Look(reason="looks are switched off")
        if asked == "always":
            return Look(self.cheaper, "every batch is to be looked at")
        # There may be any number of empty batches in a row: looks at them grow rarer.
        if self.blind & (self.blind + 1):
            return Look(reason=f"the last {self.blind} batches had no rows to look at")
        if not self.batches:
            return Look(self.cheaper, "nothing is known of the keys yet")
        if len(self.kept) + len(self.read_again) < TRIED:
            return Look(self.cheaper, "what a look takes on this stream is not known yet")
        at_stake = self.surprise * self.level_seconds
        figures = (
            f"without a look a batch is expected to lose {at_stake:.2f} s, and a look takes "
            f"{self.look_seconds:.2f} s"
        )
        return Look(self.cheaper if at_stake > self.look_seconds else NO_LOOK, figures)

    def after(self, look: Look, outcome: Outcome | None) -> Self:
        """Return what is known after a batch; `outcome` is None if nothing was seen of it."""
        kept, read_again = self.kept, self.read_again
        if look.how == KEEP:
            kept = (*kept, look.seconds)[-REMEMBERED:]
        elif look.how == READ_AGAIN:
            read_again = (*read_again, look.seconds)[-REMEMBERED:]
        if outcome is None:
            return replace(self, kept=kept, read_again=read_again, blind=self.blind + 1)
        units = outcome.time_units
        known = replace(self, kept=kept, read_again=read_again)
        # Of the first batch nothing could be known: that its keys are new says nothing of others.
        first = self.batches == 0
        lost = units(outcome.by_past) - units(outcome.best)
        if first or lost <= max(CALM, outcome.noise):
            lost = 0.0
        # A batch is at least two jobs like a look: one that reads its rows, one that works on them.
        work = max(0.0, outcome.seconds - 2 * known.look_seconds)
        promised = look.promised + AGREES + outcome.noise
        differs = look.how == READ_AGAIN and outcome.was > promised
        return replace(
            known,
            surprises=FADE * self.surprises + lost,
            batches=FADE * self.batches + 1.0,
            calm=0 if lost else self.calm + 1,
            ignorance=max(0.0, units(outcome.by_hash) - units(outcome.best)),
            level_seconds=work / units(outcome.was),
            blind=0,
            unsteady=self.unsteady or differs,
        )

    def state(self) -> dict[str, Any]:
        """Return everything, as a checkpoint holds it."""
        return asdict(self)

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Read what `state` returned; a TypeError means damage."""
        times = {name: tuple(state.get(name, ())) for name in ("kept", "read_again")}
        return cls(**{**state, **times})
