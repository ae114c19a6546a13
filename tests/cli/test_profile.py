from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from trimtab.cli.app import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 2_000


@pytest.fixture(scope="module")
def clicks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profile")
    # Half of all rows are of one page, the rest of 100 others.
    pages = [("/hot" if i % 2 else f"/page-{i % 200}") for i in range(ROWS)]
    table = pa.table({"page": pages, "user": list(range(ROWS))})
    pq.write_table(table, folder / "clicks.parquet")
    pyarrow.csv.write_csv(table, folder / "clicks.csv")
    return folder / "clicks.parquet"


def profile(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, ["profile", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


@pytest.mark.spark
def test_a_profile_as_json_finds_the_hot_key(spark: SparkSession, clicks: Path) -> None:
    found = json.loads(profile(clicks, "-k", "page", "--lanes", 4, "--json").stdout)
    assert found["rows"] == ROWS
    assert found["distinct"] == 101
    assert found["hottest"][0]["key"] == "/hot"
    assert found["hottest"][0]["share"] == 0.5
    assert found["max_over_mean"] >= 2


@pytest.mark.spark
def test_a_profile_as_text_and_page(spark: SparkSession, clicks: Path, tmp_path: Path) -> None:
    page = tmp_path / "skew.html"
    result = profile(clicks.with_suffix(".csv"), "-k", "page", "--lanes", 4, "--html", page)
    assert "max/mean by Spark's hash" in result.stdout
    assert "/hot" in result.stdout
    assert f"page written to {page}" in result.stderr
    text = page.read_text(encoding="utf-8")
    assert "/hot" in text
    assert text.count("<img ") == 1


@pytest.mark.spark
def test_a_profile_without_names_has_none(
    spark: SparkSession, clicks: Path, tmp_path: Path
) -> None:
    page = tmp_path / "skew.html"
    result = profile(clicks, "-k", "page", "-n", 4, "--names", "hash", "--html", page)
    assert "0x" in result.stdout
    assert "/hot" not in result.stdout + page.read_text(encoding="utf-8")
    assert page.stat().st_mode & 0o077 == 0


@pytest.mark.spark
def test_a_table_is_profiled_by_name_and_a_check_fails(spark: SparkSession, clicks: Path) -> None:
    spark.read.parquet(str(clicks)).createOrReplaceTempView("clicked")
    result = profile(
        "clicked", "--format", "table", "-k", "page", "--lanes", 4, "--check", 1.5, code=1
    )
    assert "check failed: max/mean of Spark's hash" in result.stderr


@pytest.mark.spark
def test_a_key_that_may_be_split_changes_the_advice(spark: SparkSession, clicks: Path) -> None:
    whole, split = (
        json.loads(profile(clicks, "-k", "page", "--lanes", 8, "--json", *more).stdout)["advice"]
        for more in ([], ["--mergeable"])
    )
    allowed = [
        {row["name"] for row in advice["table"] if row["allowed"]} for advice in (whole, split)
    ]
    assert "prompt" not in allowed[0]
    assert "prompt" in allowed[1]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["no.such.table", "--format", "table", "-k", "page"],
            "cannot read no.such.table as table",
        ),
        (["clicks.parquet", "-k", "nix"], "nix"),
    ],
    ids=["a table that is not there", "a column that is not there"],
)
def test_mistakes_that_spark_finds(
    spark: SparkSession,
    clicks: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(clicks.parent)
    result = profile(*arguments, code=2)
    assert sentence in result.stderr
    assert result.stderr.startswith("trimtab: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--lanes", "0"], "--lanes must be"),
        (["--top", "0"], "--top must be"),
        (["--unit", "miles"], "--unit must be one of 'rows', 'bytes', 'seconds'"),
        (["--sample", "2"], "--sample must be a number in (0, 1]"),
        (["--format", "xml"], "--format must be one of"),
    ],
    ids=" ".join,
)
def test_mistakes_that_are_found_before_spark_starts(
    clicks: Path, arguments: list[str], sentence: str
) -> None:
    assert sentence in profile(clicks, "-k", "page", *arguments, code=2).stderr


def test_a_file_that_is_not_there_is_found_before_spark_starts(tmp_path: Path) -> None:
    assert "no such file" in profile(tmp_path / "x.parquet", "-k", "a", code=2).stderr
