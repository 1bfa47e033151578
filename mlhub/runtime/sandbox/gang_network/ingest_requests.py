# SPDX-License-Identifier: Apache-2.0
"""Which HTTP requests a pod may send to the web server, read strictly enough that no server reads them otherwise.

A request that is cut differently by two programs in a row could hide a second one, to another route, in the body of the
first. So a body has one announced length, lines end with CRLF, and the relay writes the head anew.
Standard library only. Source: RFC 9112, sections 3, 5, 6.3 and 11.2 (request smuggling).
"""

from __future__ import annotations

import json
import re
import socket
from dataclasses import dataclass

MAX_HEAD_BYTES = 2**16
METHODS = (b"GET", b"POST", b"PUT")
CHANGING = (b"PATCH", b"DELETE")  # with which clients of MLflow change what they logged, and nothing else is asked
PATH = re.compile(rb"[A-Za-z0-9._/-]+")
TRACKING = b"api/2.0/mlflow"  # routes of the MLflow protocol, which alone have queries
ARTIFACTS = b"artifacts/"
# of files, such as epoch%3D2.ckpt: percent signs may stand for anything but what a server could take for a separator or
# decode twice, which are controls, #, %, a dot, /, ? and the backslash
NAMED_PATH = re.compile(rb"(?:[A-Za-z0-9._~/-]|%(?!2[EFef35]|3[Ff]|5[Cc]|[01]|7[Ff])[0-9A-Fa-f]{2})+")
QUERY = re.compile(rb"[A-Za-z0-9._~!$'()*,;:@%&=+/?-]*")
HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
LENGTH = re.compile(rb"[0-9]{1,18}")
# about one connection only, or said by proxies, of which a pod is none
LEFT_OUT = (b"connection", b"keep-alive", b"upgrade", b"te", b"trailer", b"expect", b"forwarded")
LEFT_OUT_PREFIXES = (b"proxy-", b"x-forwarded-")


@dataclass(frozen=True)
class IngestRequest:
    """head: as it is sent on, ended by an empty line. body: what came with the head, of n_body_bytes in all."""

    head: bytes
    body: bytes
    n_body_bytes: int


class RequestRefusedError(Exception):
    """The request goes nowhere; the pod gets an answer with this status."""

    def __init__(self, status: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.reason, self.detail = status, reason, detail

    def answer(self) -> bytes:
        """A whole HTTP response, after which the connection is closed."""
        problem = {"title": self.reason, "status": self.status, "detail": self.detail, "code": "not_for_pods"}
        body = json.dumps(problem).encode()
        head = (
            f"HTTP/1.1 {self.status} {self.reason}\r\nContent-Type: application/problem+json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


def read_request(connection: socket.socket, *, paths: str) -> IngestRequest:
    """The request that the pod sends. paths: how the paths begin that it may ask for.

    Raises RequestRefusedError, and OSError when the connection breaks off or nothing comes for too long.
    """
    received = bytearray()
    while (end := received.find(b"\r\n\r\n")) < 0 and len(received) <= MAX_HEAD_BYTES:
        data = connection.recv(MAX_HEAD_BYTES)
        if not data:
            raise ConnectionResetError("The pod closed the connection within the head of a request.")
        received += data
    if not 0 <= end <= MAX_HEAD_BYTES:
        raise RequestRefusedError(431, "Request Header Fields Too Large", "The headers take more than 64 KiB.")
    first, *lines = bytes(received[:end]).split(b"\r\n")
    head = _request_line(first, paths.encode())
    headers = [_header(line) for line in lines]
    n_body_bytes = _body_bytes(headers)
    kept = [b"%s: %s" % (name, value) for name, value in headers if not _is_left_out(name.lower())]
    head = b"\r\n".join([head, *kept, b"Connection: close", b"", b""])
    return IngestRequest(head, bytes(received[end + 4 : end + 4 + n_body_bytes]), n_body_bytes)


def _request_line(line: bytes, paths: bytes) -> bytes:
    method, _, rest = line.partition(b" ")
    target, _, version = rest.partition(b" ")
    path, mark, query = target.partition(b"?")
    if version not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise _malformed("the request line")
    parts = path.split(b"/")[1:]
    has_good_query = not mark or (path.startswith(paths + TRACKING) and QUERY.fullmatch(query))
    names_a_file = path.startswith((paths + ARTIFACTS, paths + TRACKING))
    is_path = (NAMED_PATH if names_a_file else PATH).fullmatch(path)
    is_plain = is_path and has_good_query and not {b"", b".", b".."} & set(parts)
    is_method = method in METHODS or (method in CHANGING and path.startswith(paths + TRACKING))
    if not is_method or not is_plain or not path.startswith(paths):
        raise RequestRefusedError(
            404,
            "Not Found",
            f"Pods reach {paths.decode()}... with GET, POST and PUT, nothing else of the platform.",
        )
    return b"%s %s%s%s HTTP/1.1" % (method, path, mark, query)


def _header(line: bytes) -> tuple[bytes, bytes]:
    found = HEADER.fullmatch(line)
    if found is None:
        raise _malformed("a header")
    return found.group(1), found.group(2).rstrip()


def _body_bytes(headers: list[tuple[bytes, bytes]]) -> int:
    names = [name.lower() for name, _ in headers]
    if b"transfer-encoding" in names:
        raise RequestRefusedError(411, "Length Required", "Send the body with Content-Length, not in chunks.")
    lengths = [value for name, value in headers if name.lower() == b"content-length"]
    if not lengths:
        return 0
    if len(lengths) > 1 or not LENGTH.fullmatch(lengths[0]):
        raise _malformed("Content-Length")
    return int(lengths[0])


def _is_left_out(name: bytes) -> bool:
    return name in LEFT_OUT or name.startswith(LEFT_OUT_PREFIXES)


def _malformed(what: str) -> RequestRefusedError:
    return RequestRefusedError(400, "Bad Request", f"This is no request of HTTP/1.1: {what} is malformed.")
