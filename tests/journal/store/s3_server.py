"""As much of S3 as a store needs, on loopback: puts with a condition, gets, lists, deletes.

It answers as S3 does, to the status and the name of the error. What can go wrong with a put on its
way can be ordered beforehand with `trouble`. It is our own because moto's server, the usual one,
takes 53 more packages to install, and cannot go wrong on demand.

With a `disk` its objects are files of a directory. Files that somebody else has put there, such as
Spark by way of a file system of its own, are objects, too.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

BUCKET = "bucket"
WHEN = "2025-01-01T00:00:00.000Z"


@dataclass
class Shelf:
    """What the server holds, and what it has been told to do wrong."""

    port: int = 0
    page: int = 1000
    objects: MutableMapping[str, tuple[bytes, dict[str, str]]] = field(default_factory=dict)
    listings: int = 0
    """Answers to a list, of at most `page` names each."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    trouble: deque[str] = field(default_factory=deque)
    """For the puts to come, one word each: `lost answer`, `conflict`, `stall` or `fine`."""
    half_read: threading.Event = field(default_factory=threading.Event)
    """Set when a put that stalls has been read by half; the rest is read after `go_on`."""
    go_on: threading.Event = field(default_factory=threading.Event)
    torn: threading.Event = field(default_factory=threading.Event)
    """Set when a put has ended before its end."""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Disk(MutableMapping[str, tuple[bytes, dict[str, str]]]):
    """Objects as files of a directory; what a writer says about one is kept in memory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.said: dict[str, dict[str, str]] = {}

    def __getitem__(self, key: str) -> tuple[bytes, dict[str, str]]:
        try:
            return (self.root / key).read_bytes(), self.said.get(key, {})
        except OSError as error:
            raise KeyError(key) from error

    def __setitem__(self, key: str, value: tuple[bytes, dict[str, str]]) -> None:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value[0])
        self.said[key] = value[1]

    def __delitem__(self, key: str) -> None:
        if not (self.root / key).is_file():
            raise KeyError(key)
        (self.root / key).unlink()
        self.said.pop(key, None)

    def __iter__(self) -> Iterator[str]:
        for directory, _, files in os.walk(self.root):
            yield from (Path(directory, file).relative_to(self.root).as_posix() for file in files)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is written in two parts; the second would wait 40 ms for the first to be confirmed.
    disable_nagle_algorithm = True
    shelf: Shelf

    def do_PUT(self) -> None:
        trouble = self.shelf.trouble.popleft() if self.shelf.trouble else "fine"
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length // 2)
        if trouble == "stall":
            self.shelf.half_read.set()
            self.shelf.go_on.wait(60)
        with suppress(ConnectionResetError):
            body += self.rfile.read(length - len(body))
        key = self.key()
        if len(body) < length:
            self.shelf.torn.set()
            self.close_connection = True
            return None
        if key is None:
            return self.refuse(404, "NoSuchBucket")
        if trouble == "conflict":
            return self.refuse(409, "ConditionalRequestConflict")
        metadata = {
            name.lower(): value
            for name, value in self.headers.items()
            if name.lower().startswith("x-amz-meta-")
        }
        with self.shelf.lock:
            if self.headers.get("If-None-Match") == "*" and key in self.shelf.objects:
                return self.refuse(412, "PreconditionFailed")
            self.shelf.objects[key] = (body, metadata)
        if trouble == "lost answer":
            return self.refuse(500, "InternalError")
        return self.answer(200, b"", {"ETag": '"e"'})

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        if "list-type" in query:
            return self.listing(query)
        key = self.key()
        found = self.shelf.objects.get(key) if key else None
        if found is None:
            return self.refuse(404, "NoSuchKey")
        body, metadata = found
        headers = {"ETag": '"e"', "Last-Modified": "Wed, 01 Jan 2025 00:00:00 GMT", **metadata}
        wanted = self.headers.get("Range", "")
        if wanted:
            start = int(wanted.removeprefix("bytes=").partition("-")[0])
            if start >= len(body):
                return self.refuse(416, "InvalidRange")
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            return self.answer(206, body[start:], headers)
        return self.answer(200, body, headers)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        """Delete many at once, which is also how obstore deletes one."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        keys = [key.text or "" for key in ElementTree.fromstring(body).findall(".//{*}Key")]
        with self.shelf.lock:
            for key in keys:
                self.shelf.objects.pop(key, None)
        deleted = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        return self.answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode(), {})

    def listing(self, query: dict[str, list[str]]) -> None:
        if urlsplit(self.path).path.strip("/") != BUCKET:
            return self.refuse(404, "NoSuchBucket")
        prefix = query.get("prefix", [""])[0]
        after = query.get("continuation-token", query.get("start-after", [""]))[0]
        parted = query.get("delimiter") == ["/"]
        self.shelf.listings += 1
        with self.shelf.lock:
            keys = sorted(
                key for key in self.shelf.objects if key.startswith(prefix) and key > after
            )
            shown = keys[: self.shelf.page]
            sizes = {key: len(self.shelf.objects[key][0]) for key in shown}
        folders = set()
        if parted:
            folders = {f"{prefix}{key[len(prefix) :].partition('/')[0]}/" for key in shown}
            shown = [key for key in shown if "/" not in key[len(prefix) :]]
            folders -= {f"{key}/" for key in shown}
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{WHEN}</LastModified>"
            f'<ETag>"e"</ETag><Size>{sizes[key]}</Size></Contents>'
            for key in shown
        )
        contents += "".join(
            f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
            for folder in sorted(folders)
        )
        more = not parted and len(keys) > len(shown)
        token = (
            f"<NextContinuationToken>{escape(shown[-1])}</NextContinuationToken>" if more else ""
        )
        text = (
            f'<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>{BUCKET}</Name>'
            f"<Prefix>{escape(prefix)}</Prefix><KeyCount>{len(shown)}</KeyCount>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{contents}</ListBucketResult>"
        )
        return self.answer(200, text.encode(), {"Content-Type": "application/xml"})

    def key(self) -> str | None:
        bucket, _, key = unquote(urlsplit(self.path).path).lstrip("/").partition("/")
        return key if bucket == BUCKET else None

    def refuse(self, status: int, code: str) -> None:
        text = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>"
        self.answer(status, text.encode(), {"Content-Type": "application/xml"})

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: pytest shows what failed."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    # More than five callers at once must not be turned away.
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that were killed: it is what the tests do to them."""


@contextmanager
def s3_server(disk: Path | None = None) -> Iterator[Shelf]:
    shelf = Shelf() if disk is None else Shelf(objects=Disk(disk))
    server = Server(("127.0.0.1", 0), type("OwnHandler", (Handler,), {"shelf": shelf}))
    shelf.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield shelf
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
