# SPDX-License-Identifier: Apache-2.0
"""The relay between a pod and the web server: what it passes on, what it refuses, and that no request hides in one."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from queue import Queue

import pytest

from mlhub.runtime.sandbox.gang_network import relay

PATHS = "/api/v1/ingest/attempts/7/"
REPORT = b"POST /api/v1/ingest/attempts/7/reports HTTP/1.1\r\nHost: mlhub\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
Ask = Callable[..., bytes]
WITHIN_S = 30


class Server:
    """Stands in for the web server: keeps what each connection sends, and answers once what was announced is there."""

    def __init__(self) -> None:
        self.received: Queue[bytes] = Queue()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = self.listening.getsockname()
        self.peers: list[str] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, peer = self.listening.accept()
                self.peers.append(peer[0])
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        data = b""
        with connection, contextlib.suppress(OSError):
            while b"\r\n\r\n" not in data or len(data) < _length(data):
                more = connection.recv(2**16)
                if not more:
                    break
                data += more
            connection.sendall(ANSWER)
            connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(2**16):
                data += more
        self.received.put(data)


def _length(data: bytes) -> int:
    head, _, _ = data.partition(b"\r\n\r\n")
    n = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-l")), 0)
    return len(head) + 4 + n


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.listening.close()


@pytest.fixture
def ask(server: Server) -> Iterator[Ask]:
    """Sends pieces over one connection through a relay, and returns all that comes back."""
    ours, its = socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        socket.send_fds(ours, [b"."], [listening.fileno()])
    targets = [(socket.AF_INET, server.address)]
    threading.Thread(target=relay.serve, args=(its, targets), kwargs={"paths": PATHS}, daemon=True).start()

    def send(*pieces: bytes) -> bytes:
        with socket.create_connection(address, WITHIN_S) as pod:
            for piece in pieces:
                pod.sendall(piece)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while data := pod.recv(2**16):
                    answer += data
            return answer

    yield send
    ours.close()


def test_a_report_arrives_whole_with_its_answer(server: Server, ask: Ask) -> None:
    body = b"x" * 300_000
    head = REPORT + b"Authorization: Bearer t\r\nContent-Length: 300000\r\nConnection: keep-alive\r\n\r\n"
    assert ask(head[:40], head[40:] + body[:10], body[10:]) == ANSWER
    received = server.received.get(timeout=WITHIN_S)
    wanted = REPORT + b"Authorization: Bearer t\r\nContent-Length: 300000\r\nConnection: close\r\n\r\n" + body
    assert received == wanted
    assert server.peers == [relay.SOURCE]


def test_a_fetch_is_passed_on_with_its_range(server: Server, ask: Ask) -> None:
    head = b"GET /api/v1/ingest/attempts/7/blobs/abc HTTP/1.1\r\nHost: mlhub\r\nRange: bytes=5-\r\n"
    assert ask(head + b"Connection: close\r\n\r\n") == ANSWER
    assert server.received.get(timeout=WITHIN_S) == head + b"Connection: close\r\n\r\n"


def test_a_query_of_the_mlflow_protocol_is_passed_on(server: Server, ask: Ask) -> None:
    head = b"GET /api/v1/ingest/attempts/7/api/2.0/mlflow/runs/get?run_id=1&run_uuid=a%2Fb HTTP/1.1\r\nHost: mlhub\r\n"
    assert ask(head + b"Connection: close\r\n\r\n") == ANSWER
    assert server.received.get(timeout=WITHIN_S) == head + b"Connection: close\r\n\r\n"


@pytest.mark.parametrize(
    "path",
    [
        b"artifacts/output/epoch%3D2-step%3D48.ckpt",
        b"artifacts/output/a%20b/%C3%BC.txt",
        b"api/2.0/mlflow-artifacts/a%3Db",
    ],
)
def test_the_name_of_a_file_may_have_any_letter(path: bytes, server: Server, ask: Ask) -> None:
    head = b"PUT /api/v1/ingest/attempts/7/" + path + b" HTTP/1.1\r\nHost: mlhub\r\nContent-Length: 0\r\n"
    assert ask(head + b"Connection: close\r\n\r\n") == ANSWER
    assert server.received.get(timeout=WITHIN_S) == head + b"Connection: close\r\n\r\n"


@pytest.mark.parametrize(
    "target",
    [
        b"/api/v1/ingest/attempts/7/artifacts/%2e%2e/x", b"/api/v1/ingest/attempts/7/artifacts/a%2Fb",
        b"/api/v1/ingest/attempts/7/artifacts/a%5cb", b"/api/v1/ingest/attempts/7/artifacts/a%0d%0ab",
        b"/api/v1/ingest/attempts/7/artifacts/a%252e", b"/api/v1/ingest/attempts/7/artifacts/a%3fb",
        b"/api/v1/ingest/attempts/7/artifacts/a%7f", b"/api/v1/ingest/attempts/7/artifacts/a%",
        b"/api/v1/ingest/attempts/7/artifacts/a=b", b"/api/v1/ingest/attempts/7/report%73",
        b"/", b"/api/v1/jobs", b"/admin/", b"/healthz", b"/metrics", b"/api/v1/ingest/attempts/8/reports",
        b"/api/v1/ingest/attempts/7/../../../jobs", b"/api/v1/ingest/attempts/7/%2e%2e/reports",
        b"/api/v1/ingest/attempts/7//reports", b"/api/v1/ingest/attempts/7/./reports", b"//api/v1/jobs",
        b"http://mlhub/api/v1/jobs", b"/api/v1/ingest/attempts/7/reports?x=1", b"*",
        b"/api/v1/jobs?/api/v1/ingest/attempts/7/api/2.0/mlflow", b"/api/v1/ingest/attempts/7/api/2.0/mlflow/x?a#b",
    ],
)  # fmt: skip
def test_no_other_path_reaches_the_server(target: bytes, server: Server, ask: Ask) -> None:
    assert ask(b"GET " + target + b" HTTP/1.1\r\nHost: mlhub\r\n\r\n").startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert server.peers == []


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (REPORT + b"Transfer-Encoding: chunked\r\n", 411),
        (REPORT + b"Content-Length: 3\r\ncontent-length: 30\r\n", 400),
        (REPORT + b"Content-Length: +3\r\n", 400),
        (REPORT + b"Content-Length: 3, 30\r\n", 400),
        (REPORT + b"X-One: 1\nContent-Length: 3\r\n", 400),
        (REPORT + b"X-One: 1\r\n folded\r\n", 400),
        (REPORT + b"Content-Length : 3\r\n", 400),
        (REPORT + b"no header\r\n", 400),
        (b"POST /api/v1/ingest/attempts/7/reports\r\n", 400),
        (b"POST /api/v1/ingest/attempts/7/reports HTTP/2\r\n", 400),
        (b"DELETE /api/v1/ingest/attempts/7/reports HTTP/1.1\r\n", 404),
        (REPORT + b"X-Long: " + b"x" * 70_000 + b"\r\n", 431),
    ],
)
def test_what_two_programs_could_read_in_two_ways_is_refused(
    head: bytes, status: int, server: Server, ask: Ask
) -> None:
    assert ask(head + b"\r\n").startswith(b"HTTP/1.1 %d " % status)
    assert server.peers == []


def test_a_second_request_on_the_same_connection_goes_nowhere(server: Server, ask: Ask) -> None:
    hidden = b"GET /api/v1/jobs HTTP/1.1\r\nHost: mlhub\r\n\r\n"
    assert ask(REPORT + b"Content-Length: 2\r\n\r\nhi" + hidden, hidden).startswith(ANSWER[:15])
    received = server.received.get(timeout=WITHIN_S)
    assert received.endswith(b"\r\n\r\nhi")
    assert b"jobs" not in received


def test_what_only_proxies_say_is_left_out(server: Server, ask: Ask) -> None:
    of_proxies = (
        b"X-Forwarded-For: 10.0.0.1\r\nForwarded: for=10.0.0.1\r\nProxy-Connection: x\r\nUpgrade: websocket\r\n"
    )
    assert ask(REPORT + of_proxies + b"\r\n") == ANSWER
    assert server.received.get(timeout=WITHIN_S) == REPORT + b"Connection: close\r\n\r\n"


def test_a_pod_that_leaves_before_the_answer_leaves_no_connection_open(server: Server) -> None:
    ours, its = socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        socket.send_fds(ours, [b"."], [listening.fileno()])
    targets = [(socket.AF_INET, server.address)]
    threading.Thread(target=relay.serve, args=(its, targets), kwargs={"paths": PATHS}, daemon=True).start()
    with socket.create_connection(address, WITHIN_S) as pod:
        pod.sendall(REPORT + b"Content-Length: 100\r\n\r\nhalf")
    assert server.received.get(timeout=WITHIN_S).endswith(b"half")
    ours.close()
