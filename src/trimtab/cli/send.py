"""`trimtab send`: sends drawn records to a receiver, at a rate that is level, swings or bursts."""

from __future__ import annotations

import json
import secrets
import ssl
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from trimtab._checks import real, whole
from trimtab.cli.output import AsJson, examples, say
from trimtab.cli.receive import host_and_port, read_secret
from trimtab.errors import InvalidArgument
from trimtab.receive.drawn_records import WORKLOADS, DrawnRecords, drawn_keys, slots
from trimtab.receive.protocol import Greeting
from trimtab.receive.sending import Sender

NAME = "send"
EXAMPLES = examples(
    "trimtab send 127.0.0.1:9999 --rate 10000 --seconds 60",
    "trimtab send 127.0.0.1:9999 --workload zipf --keys 100000 --z 1.5 --rate 50000 --seconds 60 "
    "--shape sinusoidal --period 10",
    "trimtab send 127.0.0.1:9999 --rate 5000 --records 100000 --shape bursty --acknowledge "
    "--client till-7   # goes on after a lost connection",
)

MOST_KEYS = 1_000_000
"""Keys that are drawn; a longer stream begins anew with the first."""


def run(
    address: Annotated[str, typer.Argument(metavar="HOST:PORT", help="Where a receiver listens.")],
    rate: Annotated[float, typer.Option(help="Records per second, in the mean.")] = 1000.0,
    seconds: Annotated[float | None, typer.Option(help="How long to send.")] = None,
    records: Annotated[int | None, typer.Option(help="How many records to send.")] = None,
    shape: Annotated[
        str, typer.Option(help="How the rate goes: constant, sinusoidal or bursty.")
    ] = "constant",
    period: Annotated[float, typer.Option(help="Seconds from crest to crest.")] = 10.0,
    workload: Annotated[str, typer.Option(help=f"Keys: {', '.join(WORKLOADS)}.")] = "zipf",
    keys: Annotated[int, typer.Option(help="Distinct keys, for zipf, drift and clicks.")] = 100_000,
    z: Annotated[float, typer.Option(help="Zipf's exponent, for zipf, drift and clicks.")] = 1.0,
    format: Annotated[str, typer.Option(help="What a line is: json or csv.")] = "json",
    size: Annotated[int, typer.Option(help="About how many bytes a record has.")] = 0,
    acknowledge: Annotated[
        bool,
        typer.Option("--acknowledge", help="Hear what is on disk, and resume."),
    ] = False,
    client: Annotated[
        str | None, typer.Option(help="Name under which records are counted. Default: a new one.")
    ] = None,
    secret_file: Annotated[Path | None, typer.Option(help="File with the shared secret.")] = None,
    trust: Annotated[
        Path | None, typer.Option(help="Certificate to trust, PEM; speaks TLS.")
    ] = None,
    patience: Annotated[float, typer.Option(help="Seconds that a receiver may be away.")] = 60.0,
    seed: Annotated[int, typer.Option(help="Same seed, same records.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Send records with keys of a stream; field k is the key, x the number of the record."""
    if (seconds is None) == (records is None):
        raise InvalidArgument("give either --seconds or --records, to say when to end")
    real("--rate", rate, 0, low_open=True)
    if records is not None:
        seconds = whole("--records", records, 1) / rate
    assert seconds is not None
    due = slots(shape, rate, seconds, period, seed)
    if records is not None:
        # A rate that swings may end short of its mean.
        due[-1] = records
        due = due.clip(max=records)
    total = int(due[-1])
    drawn = drawn_keys(workload, min(max(total, 1), MOST_KEYS), keys, z, seed)
    name = client or (f"sender-{secrets.token_hex(4)}" if acknowledge else None)
    secret = None if secret_file is None else read_secret(secret_file)
    sender = Sender(
        host_and_port(address),
        Greeting(format, name, acknowledge, secret),
        tls=None if trust is None else _trusting(trust),
        patience=patience,
    )
    begun = time.monotonic()
    with Progress(
        TextColumn("sending"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=as_json or not Console(stderr=True).is_terminal,
    ) as progress:
        task = progress.add_task("", total=total)
        sender.send(
            DrawnRecords(drawn, format, size),
            due.tolist(),
            lambda: progress.update(task, completed=sender.sent),
        )
    _tell(sender, time.monotonic() - begun, acknowledge, as_json)


def _tell(sender: Sender, elapsed: float, acknowledge: bool, as_json: bool) -> None:
    facts: dict[str, Any] = {
        "sent": sender.sent,
        "durable": sender.durable if acknowledge else None,
        "reconnects": sender.reconnects,
        "seconds": round(elapsed, 3),
        "client": sender.greeting.client,
    }
    if as_json:
        typer.echo(json.dumps(facts))
        return
    told = f"sent {sender.sent:,} records in {elapsed:.1f} s"
    if acknowledge:
        told += f", all on disk; connected anew {sender.reconnects} times"
    say(told)


def _trusting(certificate: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(certificate))
    except (OSError, ssl.SSLError) as error:
        raise InvalidArgument(f"{certificate} is no certificate: {error}") from error
