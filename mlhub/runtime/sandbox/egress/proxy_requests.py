# SPDX-License-Identifier: Apache-2.0
"""What programs ask a forward proxy for, read strictly: CONNECT, and GET and HEAD of http addresses without a body.

One request a connection, and the head is written anew, so that no server reads it otherwise. Standard library only.
Source: RFC 9110, section 9.3.6 (CONNECT); RFC 9112, sections 3.2 and 11.2.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass

MAX_HEAD_BYTES = 2**16
HOST = rb"(?P<host>[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])"
CONNECT = re.compile(rb"CONNECT " + HOST + rb":(?P<port>[0-9]{1,5}) HTTP/1\.[01]")
PLAIN = re.compile(
    rb"(?P<method>GET|HEAD) (?P<scheme>(?i:http))://" + HOST + rb"(?::(?P<port>[0-9]{1,5}))?"
    rb"(?P<path>/[!-~]*)? HTTP/1\.[01]"
)  # fmt: skip
HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
LEFT_OUT = (b"connection", b"keep-alive", b"upgrade", b"te", b"trailer", b"expect", b"host")
BODY = (b"content-length", b"transfer-encoding")


@dataclass(frozen=True)
class ProxyRequest:
    """path, head: of a plain request, as it is sent on after the request line; is_tunnel: CONNECT."""

    host: str
    port: int
    is_tunnel: bool
    method: str = ""
    path: str = ""
    headers: bytes = b""
    rest: bytes = b""  # what came behind the head, of a tunnel


class ProxyRefusedError(Exception):
    """The request goes nowhere; the program gets an answer with this status."""

    def __init__(self, status: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail

    def answer(self) -> bytes:
        body = self.detail.encode() + b"\n"
        head = f"HTTP/1.1 {self.status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + body


def read_request(connection: socket.socket) -> ProxyRequest:
    """Raises ProxyRefusedError, and OSError when the connection breaks off or nothing comes for too long."""
    received = bytearray()
    while (end := received.find(b"\r\n\r\n")) < 0 and len(received) <= MAX_HEAD_BYTES:
        data = connection.recv(MAX_HEAD_BYTES)
        if not data:
            raise ConnectionResetError("The program closed the connection within the head of a request.")
        received += data
    if not 0 <= end <= MAX_HEAD_BYTES:
        raise ProxyRefusedError("431 Request Header Fields Too Large", "The headers take more than 64 KiB.")
    first, *lines = bytes(received[:end]).split(b"\r\n")
    if (found := CONNECT.fullmatch(first)) is not None:
        rest = bytes(received[end + 4 :])
        return ProxyRequest(found["host"].decode(), _port(found["port"]), is_tunnel=True, rest=rest)
    found = PLAIN.fullmatch(first)
    if found is None:
        raise ProxyRefusedError("400 Bad Request", "This proxy takes CONNECT, and GET and HEAD of http addresses.")
    kept = []
    for line in lines:
        header = HEADER.fullmatch(line)
        if header is None:
            raise ProxyRefusedError("400 Bad Request", "A header is malformed.")
        name = header[1].lower()
        if name in BODY and header[2].strip() != b"0":
            raise ProxyRefusedError("413 Content Too Large", "This proxy passes no bodies on.")
        if name not in (*LEFT_OUT, *BODY) and not name.startswith(b"proxy-"):
            kept.append(line)
    return ProxyRequest(
        found["host"].decode(),
        _port(found["port"] or b"80"),
        is_tunnel=False,
        method=found["method"].decode(),
        path=(found["path"] or b"/").decode(),
        headers=b"".join(line + b"\r\n" for line in kept),
    )


def _port(digits: bytes) -> int:
    port = int(digits)
    if not 0 < port < 2**16:
        raise ProxyRefusedError("400 Bad Request", "The port is none.")
    return port
