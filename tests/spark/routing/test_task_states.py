"""What routers of tasks keep between batches: files, and no Spark session."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab import hash_keys, router
from trimtab import state as states
from trimtab.errors import CorruptState
from trimtab.routers import Router
from trimtab.spark.routing import task_states
from trimtab.spark.routing.task_states import TaskStates


def learned(name: str, rows: int, **parameters: object) -> Router:
    made = router(name, lanes=4, **parameters)
    made.route(hash_keys([f"user{n % 7}" for n in range(rows)]))
    return made


def rows_of(place: Path, number: int) -> int:
    path = place / "ready" / f"{number}.json"
    return int(states.parse(path.read_bytes())["arrays"]["_loads"].sum())


def test_a_task_goes_on_from_what_it_left(tmp_path: Path) -> None:
    first = TaskStates.between(None, tmp_path / "0")
    assert first.of_task(0, type(learned("pkg", 0))) is None
    first.leave(0, learned("pkg", 10))
    first.leave(1, learned("pkg", 20))
    first.gather(type(learned("pkg", 0)), None)
    second = TaskStates.between(tmp_path / "0", tmp_path / "1")
    assert second.known == 2
    cls = type(learned("pkg", 0))
    found = [second.of_task(number, cls) for number in range(3)]
    # A third task learns from one of the two.
    assert [int(made.loads().sum()) for made in found if made is not None] == [10, 20, 10]


def test_a_task_without_rows_keeps_what_it_had_and_numbers_have_no_gaps(tmp_path: Path) -> None:
    cls = type(learned("pkg", 0))
    first = TaskStates.between(None, tmp_path / "0")
    first.leave(0, learned("pkg", 10))
    first.leave(3, learned("pkg", 30))
    first.gather(cls, None)
    assert [rows_of(tmp_path / "0", number) for number in range(2)] == [10, 30]
    second = TaskStates.between(tmp_path / "0", tmp_path / "1")
    second.leave(1, learned("pkg", 50))
    second.gather(cls, None)
    assert [rows_of(tmp_path / "1", number) for number in range(2)] == [10, 50]


@pytest.mark.parametrize("name", ["pkg", "dalton"])
def test_a_crash_while_states_are_gathered_changes_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {"cooperate": True} if name == "dalton" else {}
    cls = type(learned(name, 0, **parameters))

    def left(place: Path) -> TaskStates:
        made = TaskStates.between(None, place)
        for number in range(3):
            made.leave(number, learned(name, 100 * (number + 1), **parameters))
        return made

    undisturbed = left(tmp_path / "a")
    reducer = undisturbed.gather(cls, None)
    write = task_states.write_whole
    written: list[Path] = []

    def dies(path: Path, text: str) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(path)
        write(path, text)

    disturbed = left(tmp_path / "b")
    monkeypatch.setattr(task_states, "write_whole", dies)
    with pytest.raises(KeyboardInterrupt):
        disturbed.gather(cls, None)
    monkeypatch.setattr(task_states, "write_whole", write)
    again = disturbed.gather(cls, None)
    texts = [
        [(tmp_path / side / "ready" / f"{number}.json").read_text() for number in range(3)]
        for side in ("a", "b")
    ]
    assert texts[0] == texts[1]
    assert (reducer is None) == (again is None) == (name != "dalton")


def test_what_an_interrupted_run_left_is_taken_away(tmp_path: Path) -> None:
    cls = type(learned("pkg", 0))
    made = TaskStates.between(None, tmp_path / "0")
    made.leave(5, learned("pkg", 10))
    made.emptied().leave(0, learned("pkg", 20))
    made.gather(cls, None)
    assert [path.name for path in (tmp_path / "0" / "ready").iterdir()] == ["0.json"]
    assert rows_of(tmp_path / "0", 0) == 20


def test_a_damaged_state_is_refused_by_name(tmp_path: Path) -> None:
    cls = type(learned("pkg", 0))
    made = TaskStates.between(None, tmp_path / "0")
    made.leave(0, learned("pkg", 10))
    made.gather(cls, None)
    (tmp_path / "0" / "ready" / "0.json").write_text("{}")
    with pytest.raises(CorruptState, match=r"ready/0\.json"):
        TaskStates.between(tmp_path / "0", tmp_path / "1").of_task(0, cls)
