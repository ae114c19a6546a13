"""`trimtab receive`: takes records, counts them while they come, and releases level batches."""

from __future__ import annotations

import ipaddress
import json
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.status import Status

from trimtab._checks import whole
from trimtab.cli.output import AsJson, examples, say
from trimtab.cli.trial import parsed
from trimtab.errors import InvalidArgument
from trimtab.receive import Log, Receiver, Running
from trimtab.receive.cutting import RECORD_BYTES
from trimtab.receive.manifest import BatchManifest
from trimtab.receive.partners import Partners
from trimtab.receive.running import BATCH_BYTES, WAITING_BATCHES
from trimtab.receive.sources.files import DirectorySource, FlowSource, Reading
from trimtab.receive.sources.tcp import Limits, TcpSource, tls_context

NAME = "receive"
EXAMPLES = examples(
    'trimtab receive log/ --listen 127.0.0.1:9999 --schema "k string, x long" --key k',
    'trimtab receive log/ --listen 127.0.0.1:9999 --schema "k string, x long" --key k '
    '--interval "500 milliseconds" --blocks 16 --planner trim',
    'trimtab receive log/ --directory incoming/ --schema "k string, x long" --key k',
    'cat clicks.csv | trimtab receive log/ --stdin --format csv --schema "k string" --key k',
    "trimtab receive log/ --listen 0.0.0.0:9999 --secret-file secret.txt ...",
)

_UNITS = {"millisecond": 0.001, "second": 1.0, "minute": 60.0}


def run(
    log: Annotated[Path, typer.Argument(help="Directory of the log; one that is there goes on.")],
    schema: Annotated[str, typer.Option(help='Columns as Spark writes them: "k string, x long".')],
    key: Annotated[list[str], typer.Option("--key", "-k", help="Key column; several if repeated.")],
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Take lines over TCP here.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option(help="Take the files that arrive here, each once.")
    ] = None,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Take lines from standard input, then end.")
    ] = False,
    format: Annotated[str, typer.Option(help="What a line is: json or csv.")] = "json",
    interval: Annotated[
        str, typer.Option(help='Time from batch to batch: "2 seconds", "500 milliseconds".')
    ] = "1 second",
    blocks: Annotated[int, typer.Option(help="Blocks of a batch: Spark's map tasks.")] = 8,
    slack: Annotated[
        float, typer.Option(help="Part of the interval that planning and writing may take.")
    ] = 0.05,
    planner: Annotated[
        str, typer.Option(help="Partitioner that lays blocks out: a planner or a router.")
    ] = "prompt",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the partitioner."),
    ] = None,
    name: Annotated[
        str, typer.Option(help="Who this is: started again under its name, it goes on.")
    ] = "receiver",
    seed: Annotated[int, typer.Option(help="For partitioners that draw.")] = 0,
    partners: Annotated[
        Path | None,
        typer.Option(help="Directory that receivers with dalton share, to learn together."),
    ] = None,
    partner_count: Annotated[int, typer.Option(help="How many receivers share it.")] = 2,
    waiting: Annotated[
        int, typer.Option(help="Batches that may wait for Spark before reading stops.")
    ] = WAITING_BATCHES,
    record_bytes: Annotated[int, typer.Option(help="Longest record.")] = RECORD_BYTES,
    batch_bytes: Annotated[
        int, typer.Option(help="Bytes at which a batch is released before its time.")
    ] = BATCH_BYTES,
    connections: Annotated[int, typer.Option(help="Clients at once.")] = 1000,
    idle: Annotated[float, typer.Option(help="Seconds that a client may be silent.")] = 300.0,
    secret_file: Annotated[
        Path | None, typer.Option(help="File with what every client has to say first.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="Certificate for TLS, PEM.")] = None,
    private_key: Annotated[Path | None, typer.Option(help="Its private key, PEM.")] = None,
    batches: Annotated[
        int | None, typer.Option(help="End after so many batches. Default: until Ctrl-C.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Receive records, count them while they come, and release batches that are already level."""
    if batches is not None:
        whole("--batches", batches, 1)
    if listen is None and directory is None and not stdin:
        raise InvalidArgument("nothing to receive from; give --listen, --directory or --stdin")
    secret = None if secret_file is None else read_secret(secret_file)
    tls = _tls(certificate, private_key)
    address = None if listen is None else host_and_port(listen)
    if address is not None and secret is None and tls is None and not _is_loopback(address[0]):
        raise InvalidArgument(
            f"{listen} can be reached from other machines; give --secret-file, or --certificate "
            "and --private-key, or listen at 127.0.0.1"
        )
    made = Log.create(
        log,
        schema=schema,
        key=key,
        blocks=blocks,
        interval=seconds(interval),
        planner=planner,
    )
    over = threading.Event()
    together = None if partners is None else Partners(partners, name, partner_count)
    parameters = dict(map(parsed, set_ or []))
    with (
        Receiver(made, name, parameters=parameters, seed=seed, partners=together) as receiver,
        _shown(receiver, as_json) as shown,
    ):

        def on_release(manifest: BatchManifest) -> None:
            shown(manifest)
            if batches is not None and manifest.batch - first + 1 >= batches:
                over.set()

        first = made.newest() + 1
        running = Running(
            receiver,
            slack=slack,
            waiting=waiting,
            batch_bytes=batch_bytes,
            tell=say,
            on_release=on_release,
        )
        sources: list[Any] = []
        if address is not None:
            limits = Limits(record_bytes, connections, idle)
            tcp = TcpSource(running, *address, format=format, limits=limits, secret=secret, tls=tls)
            sources.append(tcp)
        if directory is not None:
            sources.append(DirectorySource(running, format, directory, record_bytes=record_bytes))
        if stdin:
            sources.append(FlowSource(running, format, sys.stdin.buffer, record_bytes))
        _receive(running, sources, over)


def _receive(running: Running, sources: list[Any], over: threading.Event) -> None:
    """Run until somebody ends it, or a source that has an end has come to it."""
    with ExitStack() as ending, _until_asked(over):
        running.start()
        ending.callback(running.stop)
        for source in sources:
            source.start()
            ending.callback(source.stop)
            if isinstance(source, TcpSource):
                say("listening at {}:{}".format(*source.address))
        while not over.wait(0.1):
            failures = [each.failure for each in (running, *sources) if each.failure is not None]
            if failures:
                raise failures[0]
            ended = [each for each in sources if isinstance(each, Reading) and each.join(0)]
            if len(ended) == len(sources):
                break
        for source in sources:
            source.stop()
            source.join(5.0)


@contextmanager
def _until_asked(over: threading.Event) -> Iterator[None]:
    """End as asked by Ctrl-C or a service manager, with what is here released."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, lambda *_: over.set()) for each in wanted]
    try:
        yield
    finally:
        for each, handler in zip(wanted, before, strict=True):
            signal.signal(each, handler)


@contextmanager
def _shown(receiver: Receiver, as_json: bool) -> Iterator[Any]:
    """Show each batch: a line that changes on a terminal, a line each elsewhere, or JSON."""
    out = Console(stderr=True, highlight=False)
    if as_json:
        yield lambda manifest: typer.echo(json.dumps(_facts(receiver, manifest)))
    elif not out.is_terminal:
        yield lambda manifest: say(_line(receiver, manifest))
    else:
        with Status("waiting for records", console=out) as status:
            yield lambda manifest: status.update(_line(receiver, manifest))


def _facts(receiver: Receiver, manifest: BatchManifest) -> dict[str, Any]:
    return {
        "batch": manifest.batch,
        "rows": manifest.rows,
        "blocks": [block.rows for block in manifest.blocks],
        "rejected": manifest.rejected,
        "release_seconds": round(manifest.released - manifest.frozen, 4),
        "waiting": receiver.waiting(),
    }


def _line(receiver: Receiver, manifest: BatchManifest) -> str:
    sizes = [block.rows for block in manifest.blocks]
    level = max(sizes, default=0) * len(sizes) / max(1, manifest.rows)
    told = [
        f"batch {manifest.batch}: {manifest.rows:,} rows in {len(sizes)} blocks, max/mean "
        f"{level:.3f}",
        f"released in {1000 * (manifest.released - manifest.frozen):.0f} ms",
        f"{receiver.waiting()} waiting for Spark",
    ]
    if receiver.rejected:
        told.append(f"{receiver.rejected:,} records rejected so far")
    return ", ".join(told)


def seconds(text: str) -> float:
    """Return a time such as "2 seconds", "500 milliseconds" or "1.5" in seconds.

    >>> seconds("500 milliseconds"), seconds("2 seconds"), seconds("1.5")
    (0.5, 2.0, 1.5)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*?)s?\s*", text.lower())
    unit = "second" if found and not found[2] else found[2] if found else ""
    if found is None or unit not in _UNITS:
        raise InvalidArgument(
            f"--interval is a number of milliseconds, seconds or minutes, such as '2 seconds'; got "
            f"{text!r}"
        )
    return float(found[1]) * _UNITS[unit]


def host_and_port(text: str) -> tuple[str, int]:
    """Return the parts of HOST:PORT; brackets around an IPv6 address are taken off.

    >>> host_and_port("127.0.0.1:9999"), host_and_port("[::1]:0")
    (('127.0.0.1', 9999), ('::1', 0))
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InvalidArgument(f"an address is HOST:PORT, such as 127.0.0.1:9999; got {text!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_secret(file: Path) -> str:
    """Return the secret that a file holds: its text, without white space around it."""
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"the secret cannot be read from {file}: {error}") from error
    if not secret:
        raise InvalidArgument(f"{file} is empty; a secret has at least one letter")
    return secret


def _tls(certificate: Path | None, private_key: Path | None) -> Any:
    if (certificate is None) != (private_key is None):
        raise InvalidArgument("--certificate and --private-key go together; give both or none")
    return None if certificate is None else tls_context(certificate, private_key)
