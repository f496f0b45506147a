# SPDX-License-Identifier: Apache-2.0
"""A store of profiles that keeps what it was sent, and fails as it is told."""
from __future__ import annotations

import contextlib
import gzip
import http.server
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterator

import sent


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: bytes
    is_kept: bool  # it was answered with 200

    def otlp(self) -> sent.Sent:
        assert self.headers["content-type"] == "application/x-protobuf"
        assert self.headers["content-encoding"] == "gzip"
        gzip.decompress(self.body)
        return sent.otlp(self.body)

    def pprof(self) -> sent.Sent:
        assert self.headers["content-type"] == "application/octet-stream" and "content-encoding" not in self.headers
        return sent.pprof(self.body)


@dataclass
class Answer:
    """How a request is answered. `cut`: the connection is closed after so many bytes of the body were read, or, at -1, after all of
    them; `seconds`: it takes as long; `when_whole` is called once the body is there."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut: int | None = None
    seconds: float = 0
    when_whole: Callable[[], None] = lambda: None


@dataclass
class Receiver:
    port: int
    requests: list[Request] = field(default_factory=list)
    # the answer to request number N, from 0
    answer: Callable[[int], Answer] = lambda number: Answer()
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kept(self) -> list[Request]:
        with self.lock:
            return [request for request in self.requests if request.is_kept]

    def wait(self, count: int, seconds: float = 30) -> list[Request]:
        end = time.monotonic() + seconds
        while len(self.kept()) < count and time.monotonic() < end:
            time.sleep(0.02)
        assert len(self.kept()) >= count, f"{len(self.kept())} of {count} requests came"
        return self.kept()

    def total(self, kind: str, **labels: object) -> int:
        return sum(request.otlp().total(kind, **labels) for request in self.kept())

    def ids(self) -> list[bytes]:
        return [number for request in self.kept() for number in request.otlp().ids]


def handler(receiver: Receiver) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            with receiver.lock:
                number = len(receiver.requests)
                answer = receiver.answer(number)
                request = Request(self.path, {k.lower(): v for k, v in self.headers.items()}, b"", False)
                receiver.requests.append(request)
            length = int(self.headers["Content-Length"])
            if answer.cut is not None and answer.cut >= 0:
                request.body = self.rfile.read(min(length, answer.cut))
                self.hang_up()
                return
            request.body = self.rfile.read(length)
            if answer.cut is not None:
                self.hang_up()
                return
            if len(request.body) < length:
                return  # who sent it was ended
            answer.when_whole()
            with receiver.lock:
                request.is_kept = answer.status == 200
            time.sleep(answer.seconds)
            self.reply(answer)

        def reply(self, answer: Answer) -> None:
            with contextlib.suppress(OSError):
                self.send_response(answer.status)
                for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)

        def hang_up(self) -> None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@contextlib.contextmanager
def receiver(port: int = 0, encryption: tuple[Path, Path] | None = None) -> Iterator[Receiver]:
    """`encryption`: the files of a certificate and its key."""
    made = Receiver(port)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler(made))
    if encryption:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*encryption)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None
    server.daemon_threads = True
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
