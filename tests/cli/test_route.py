from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from trimtab import hash_keys, metrics, planner, router
from trimtab.cli.app import app
from trimtab.cli.trial import SCALARS
from trimtab.histogram import Histogram
from trimtab.workloads.clicks import Clicks

ROWS = 4_000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    clicks = Clicks(pages=200, z=1.1, seed=1)
    pages = clicks.names(clicks.batch(0, ROWS))
    return pa.table({"page": pages.tolist(), "user": np.arange(ROWS) % 7})


@pytest.fixture(scope="module")
def clicks(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("route") / "clicks.parquet"
    pq.write_table(table, path)
    return path


def route(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, ["route", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def as_json(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(route(*arguments, "--json").stdout)
    return found


def test_a_router_has_the_costs_that_metrics_gives(clicks: Path, table: pa.Table) -> None:
    found = as_json(clicks, "-k", "page", "-p", "pkg", "--lanes", 8, "--seed", 3)
    hashes = hash_keys(table["page"])
    expected = metrics.costs(hashes, router("pkg", lanes=8, seed=3).route(hashes), 8)
    (trial,) = found["partitioners"]
    assert trial["windows"] == [json.loads(json.dumps(expected.to_dict()))]
    assert trial["mean"] == pytest.approx({name: getattr(expected, name) for name in SCALARS})
    assert trial["loads"] == expected.loads.tolist()
    assert found["tuples"] == ROWS


def test_a_planner_plans_each_window_from_its_own_keys(clicks: Path, table: pa.Table) -> None:
    found = as_json(clicks, "-k", "page", "-p", "kip", "--lanes", 4, "--window", 2500)
    hashes = hash_keys(table["page"])
    plan, loads = None, []
    for part in (hashes[:2500], hashes[2500:]):
        plan = planner("kip", lanes=4).plan(Histogram.from_hashes(part), previous=plan)
        loads.append(np.bincount(plan.route(part), minlength=4).astype(float).tolist())
    (trial,) = found["partitioners"]
    assert [window["loads"] for window in trial["windows"]] == loads
    assert trial["kind"] == "planner"
    assert 0 <= trial["moved"] <= 1


def test_a_name_that_is_router_and_planner_can_be_either(clicks: Path) -> None:
    kinds = [
        as_json(clicks, "-k", "page", "-p", "trim", *more)["partitioners"][0]["kind"]
        for more in ([], ["--kind", "planner"])
    ]
    assert kinds == ["router", "planner"]


def test_parameters_reach_the_partitioner(clicks: Path) -> None:
    for choices in (1, 2):
        found = as_json(clicks, "-k", "page", "-p", "pkg", "--set", f"choices={choices}")
        assert found["partitioners"][0]["mean"]["widest_key"] == choices


def test_the_table_compares_hash_and_trim_unless_told(clicks: Path) -> None:
    text = route(clicks, "--key", "page").stdout
    for word in (
        "hash (router)",
        "trim (router)",
        "max / mean",
        "lower bound",
        "lanes per key",
        "█",
    ):
        assert word in text


def test_the_hottest_keys_are_named(clicks: Path, table: pa.Table) -> None:
    found = as_json(clicks, "-k", "page", "-p", "hash")["hottest"]
    pages, counts = np.unique(table["page"].to_numpy(), return_counts=True)
    assert found[0]["key"] == pages[counts.argmax()]
    assert found[0]["tuples"] == counts.max()


def test_composite_keys(clicks: Path, table: pa.Table) -> None:
    found = as_json(clicks, "-k", "page", "-k", "user", "-p", "hash")
    assert found["partitioners"][0]["windows"][0]["keys"] == len(
        set(zip(table["page"].to_pylist(), table["user"].to_pylist(), strict=True))
    )
    assert ", " in found["hottest"][0]["key"]


def test_csv_json_and_directories_give_what_parquet_gives(
    clicks: Path, table: pa.Table, tmp_path: Path
) -> None:
    csv, lines, folder = tmp_path / "c.csv", tmp_path / "c.jsonl", tmp_path / "spark.out"
    pyarrow.csv.write_csv(table, csv)
    lines.write_text("\n".join(json.dumps(row) for row in table.to_pylist()), encoding="utf-8")
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    pq.write_table(table, folder / "part-0.snappy.parquet")
    expected = as_json(clicks, "-k", "page", "-p", "cam")["partitioners"]
    for path in (csv, lines, folder):
        assert as_json(path, "-k", "page", "-p", "cam")["partitioners"] == expected


def test_lanes_can_be_written(clicks: Path, table: pa.Table, tmp_path: Path) -> None:
    out = tmp_path / "lanes.parquet"
    route(clicks, "-k", "page", "-p", "hash", "--lanes", 5, "--output", out)
    written = pq.read_table(out)
    expected = router("hash", lanes=5).route(hash_keys(table["page"]))
    assert written["lane"].to_pylist() == expected.tolist()
    assert written["page"].to_pylist() == table["page"].to_pylist()


def test_an_empty_file_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"page": pa.array([], pa.string())}), path)
    for name in ("trim", "kip"):
        found = as_json(path, "-k", "page", "-p", name)
        assert found["partitioners"][0]["mean"]["max_over_mean"] == 1.0
        assert route(path, "-k", "page", "-p", name).exit_code == 0


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        pytest.param("1000", 0, id="a check that holds"),
        pytest.param("1.0", 1, id="a check that fails"),
    ],
)
def test_checks_end_in_exit_codes(clicks: Path, limit: str, code: int) -> None:
    result = route(clicks, "-k", "page", "-p", "hash", "--check", limit, code=code)
    assert ("check failed" in result.stderr) == bool(code)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-k", "nix"], "has no column 'nix'; it has page, user"),
        (["-k", "page", "-p", "nix"], "unknown partitioner 'nix'; known partitioners: am,"),
        (["-k", "page", "-p", "pkg", "--kind", "planner"], "unknown planner 'pkg'"),
        (["-k", "page", "--kind", "nix"], "--kind must be one of 'router', 'planner'"),
        (["-k", "page", "--lanes", "0"], "--lanes must be a whole number in 1"),
        (["-k", "page", "--window", "0"], "--window must be a whole number >= 1"),
        (["-k", "page", "--format", "xml"], "format must be one of 'parquet', 'csv', 'json'"),
        (["-k", "page", "--format", "csv"], "as csv"),
        (["-k", "page", "-p", "pkg", "--set", "nix=1"], "has no parameter 'nix'"),
        (["-k", "page", "--set", "choices"], "--set takes NAME=VALUE"),
        (["-k", "page", "--output", "x.parquet"], "--output takes one partitioner"),
        (["-k", "page", "-p", "hash", "--output", "/no/such/x.parquet"], "cannot write"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_one_sentence(clicks: Path, arguments: list[str], sentence: str) -> None:
    result = route(clicks, *arguments, code=2)
    assert result.stderr.startswith("trimtab: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.parquet", None, "no such file or directory"),
        ("data.bin", b"x", "cannot tell the format"),
        ("broken.parquet", b"not parquet at all", "cannot read"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: bytes | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = route(tmp_path / name, "-k", "page", code=2)
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
