"""When a look pays: decided from seconds and levels alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trimtab.spark.stream.looking import KEEP, NO_LOOK, READ_AGAIN, Look, Looking, Outcome

LEVEL = Outcome(was=1.0, by_past=1.0, by_hash=2.0, best=1.0, seconds=2.0)


def after(*outcomes: Outcome | None, look: Look | None = None) -> Looking:
    known = Looking()
    for outcome in outcomes:
        known = known.after(look or Look(KEEP, seconds=0.1), outcome)
    return known


def test_the_first_batch_is_looked_at() -> None:
    look = Looking().decide("auto")
    assert (look.how, look.reason) == (KEEP, "nothing is known of the keys yet")


@pytest.mark.parametrize(
    ("asked", "taken"), [("always", True), ("never", False)], ids=["always", "never"]
)
def test_what_is_asked_for_is_done_whatever_is_known(asked: str, taken: bool) -> None:
    for known in (Looking(), after(LEVEL), after(None), after(*[LEVEL] * 30)):
        assert known.decide(asked).taken is taken


def test_a_surprise_is_weighed_against_the_seconds_of_a_look() -> None:
    surprised = replace(LEVEL, by_past=3.0)
    known = after(LEVEL, surprised, surprised)
    look = known.decide("auto")
    assert look.taken
    assert "a look takes 0.10 s" in look.reason
    costly = replace(known, kept=(9.0, 9.0), read_again=(9.0, 9.0))
    assert not costly.decide("auto").taken


def test_a_long_calm_ends_the_looks_and_a_surprise_brings_them_back() -> None:
    calm = after(*[LEVEL] * 40)
    assert calm.decide("auto").how == NO_LOOK
    surprised = calm.after(Look(), replace(LEVEL, was=4.0, by_past=4.0, seconds=8.0))
    assert surprised.decide("auto").taken


def test_what_chance_explains_is_no_surprise() -> None:
    calm = after(*[LEVEL] * 40)
    for _ in range(10):
        calm = calm.after(Look(), replace(LEVEL, was=1.3, by_past=1.3, seconds=9.0, noise=0.35))
    assert calm.calm == 50
    assert calm.surprises == 0.0
    assert calm.after(Look(), replace(LEVEL, was=1.3, by_past=1.3, noise=0.1)).calm == 0


def test_a_batch_with_less_work_than_a_look_is_not_looked_at() -> None:
    tiny = replace(LEVEL, by_past=8.0, seconds=0.2)
    assert not after(tiny, tiny, tiny).decide("auto").taken


def test_lanes_that_take_turns_make_up_for_a_full_one() -> None:
    surprised = replace(LEVEL, by_past=3.0)
    assert after(LEVEL, surprised).decide("auto").taken
    few_slots = replace(surprised, share_of_slots=1 / 8)
    assert not after(few_slots, few_slots).decide("auto").taken


def test_empty_batches_in_a_row_are_looked_at_ever_more_rarely() -> None:
    known, looks = Looking(), []
    for _ in range(16):
        looks.append(known.decide("auto").taken)
        known = known.after(Look(), None)
    assert [number for number, taken in enumerate(looks) if taken] == [0, 1, 3, 7, 15]
    assert not after(LEVEL, LEVEL, None, None).decide("auto").taken


@pytest.mark.parametrize(
    ("kept", "read_again", "cheaper"),
    [
        pytest.param((), (), KEEP, id="rows are kept first"),
        pytest.param((0.9, 0.2), (), READ_AGAIN, id="then keys are read again"),
        pytest.param((0.9, 0.3), (0.9, 0.2), KEEP, id="rows are kept if that is not twice as dear"),
        pytest.param((2.0, 2.0), (0.2, 0.3), READ_AGAIN, id="keys are read again if they are few"),
    ],
)
def test_both_kinds_of_looks_are_tried_and_the_cheaper_is_taken(
    kept: tuple[float, ...], read_again: tuple[float, ...], cheaper: str
) -> None:
    assert Looking(kept=kept, read_again=read_again).cheaper == cheaper


def test_rows_of_a_source_that_gives_others_every_time_are_kept() -> None:
    known = Looking(kept=(2.0, 2.0), read_again=(0.1, 0.1))
    look = Look(READ_AGAIN, seconds=0.1, promised=1.02)
    assert known.after(look, replace(LEVEL, was=1.1)).cheaper == READ_AGAIN
    assert known.after(look, replace(LEVEL, was=1.5, noise=0.4)).cheaper == READ_AGAIN
    found = known.after(look, replace(LEVEL, was=2.5))
    assert found.cheaper == KEEP
    assert found.after(look, LEVEL).cheaper == KEEP


def test_what_is_known_is_read_back_as_it_was() -> None:
    known = after(LEVEL, replace(LEVEL, by_past=2.0), None)
    assert Looking.restore(known.state()) == known
