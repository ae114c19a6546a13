from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.calls import trimtab
from tests.receive.logs import numbers, text
from trimtab.cli.receive import seconds
from trimtab.errors import InvalidArgument
from trimtab.receive import Log

SCHEMA = ["--schema", "k long, x long", "--key", "k"]


def test_a_receiver_and_a_sender_as_people_run_them(tmp_path: Path) -> None:
    """One process listens; the sender sends twice under one name; Ctrl-C releases the rest."""
    place, secret = tmp_path / "log", tmp_path / "secret"
    secret.write_text("open sesame\n")
    options = ["--listen", "127.0.0.1:0", "--interval", "100 milliseconds", "--planner", "pkg"]
    command = [sys.executable, "-m", "trimtab", "receive", str(place), *SCHEMA, *options]
    command += ["--set", "choices=3", "--blocks", "4", "--json", "--secret-file", str(secret)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stderr is not None
        found = re.search(r"listening at (\S+)", process.stderr.readline())
        assert found is not None
        sent = ["send", found[1], "--rate", 20_000, "--acknowledge", "--client", "ann", "--json"]
        refused = trimtab(*sent, "--records", 10, code=2)
        assert "the secret is missing or wrong" in refused.stderr
        sent += ["--secret-file", secret, "--keys", 50, "--seed", 3]
        first = json.loads(trimtab(*sent, "--records", 3000).stdout)
        assert (first["sent"], first["durable"], first["reconnects"]) == (3000, 3000, 0)
        # Of 5,000 records 3,000 are on disk; those after them are sent.
        again = json.loads(trimtab(*sent, "--records", 5000, "--shape", "bursty").stdout)
        assert again["durable"] == 5000
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    told = [json.loads(line) for line in out.splitlines()]
    assert sum(batch["rows"] for batch in told) == 5000
    assert numbers(Log.open(place)) == list(range(5000))
    assert Log.open(place).manifest(0).router == "pkg"


def test_standard_input_to_its_end(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trimtab", "receive", str(tmp_path / "log"), *SCHEMA]
    done = subprocess.run(
        [*command, "--stdin"], input=text(range(7)) + b"oops\n", capture_output=True, check=True
    )
    assert b"batch 0: 7 rows in" in done.stderr
    assert b"1 records rejected so far" in done.stderr
    assert numbers(Log.open(tmp_path / "log")) == list(range(7))


def test_files_of_a_directory_until_enough_batches(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1,0\n2,1\n")
    options = ["--directory", tmp_path / "in", "--format", "csv", "--interval", 0.1]
    done = trimtab("receive", tmp_path / "log", *SCHEMA, *options, "--batches", 1)
    assert "batch 0: 2 rows in 2 blocks, max/mean 1.000" in done.stderr
    assert numbers(Log.open(tmp_path / "log")) == [0, 1]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "nothing to receive from; give --listen, --directory or --stdin"),
        (["--listen", "0.0.0.0:0"], "0.0.0.0:0 can be reached from other machines"),
        (["--listen", "example.org:9"], "can be reached from other machines"),
        (["--listen", "9999"], "an address is HOST:PORT"),
        (["--stdin", "--certificate", "c.pem"], "go together"),
        (["--stdin", "--interval", "soon"], "--interval is a number of milliseconds"),
        (["--stdin", "--secret-file", "no-such-file"], "cannot be read from no-such-file"),
        (["--stdin", "--planner", "promt"], "unknown partitioner 'promt'"),
        (["--stdin", "--format", "xml"], "format must be one of"),
    ],
)
def test_a_wrong_call_is_one_sentence(tmp_path: Path, options: list[str], why: str) -> None:
    assert why in trimtab("receive", tmp_path / "log", *SCHEMA, *options, code=2).stderr


def test_intervals_are_read_as_people_write_them() -> None:
    assert [seconds(each) for each in ("2", " 1.5 Minutes ", "1 millisecond")] == [2.0, 90.0, 0.001]
    for wrong in ("", "second", "-1 second", "1 day"):
        with pytest.raises(InvalidArgument, match="--interval"):
            seconds(wrong)
