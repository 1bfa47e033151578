# SPDX-License-Identifier: Apache-2.0
"""The process that connects a sandbox with the hosts that its rules name, as a forward proxy, and with no others.

It stays in the network of the host, and accepts on a socket that was made inside the sandbox. TLS passes through it
unread. What it refuses it says on standard error, which is the log of the program. Standard library only.
"""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from mlhub.runtime.sandbox.egress.proxy_requests import MAX_HEAD_BYTES, ProxyRefusedError, ProxyRequest, read_request
from mlhub.runtime.sandbox.egress.rules import EgressDestination, EgressRules, is_of_site, is_public
from mlhub.runtime.sandbox.gang_network import network, relay

if TYPE_CHECKING:
    import ssl

ADDRESS, PORT = "127.0.0.1", 3128  # where it is found inside
MAX_CONNECTIONS, CONNECT_S, HEAD_S = 256, 20.0, 30.0
HTTP_PORT = 80
PROXY_PORTS = {"http": HTTP_PORT, "https": 443}
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
REFUSED, FAILED = "The sandbox refused a connection:", "A connection failed:"  # begin what is said in the log


def start(rules: EgressRules, *, drop_rights: Callable[[], None]) -> network.Relay:
    """Forks the proxy; call it before the sandbox has a network of its own, and open_inside() after. Raises OSError."""
    "warm".encode("idna")  # its modules may be out of reach afterwards, and so may certificates
    trusted = _trusted(rules)
    return network.fork_relay(
        lambda channel: serve(channel, rules, trusted), purpose="the sandbox with the network", drop_rights=drop_rights
    )


def open_inside(started: network.Relay) -> None:
    """From now on programs of the sandbox find the proxy at ADDRESS and PORT. Raises OSError."""
    network.listen(started, ADDRESS, PORT)


def _trusted(rules: EgressRules) -> ssl.SSLContext | None:
    """What the site's proxy is checked by, where it is one of https://. Raises OSError."""
    if not any(url.lower().startswith("https://") for _, url in rules.proxies):
        return None
    from mlhub.runtime.sandbox.egress.tls_connections import trusting  # few sites need it, and its import takes time

    return trusting(rules.certificates)


def serve(channel: socket.socket, rules: EgressRules, trusted: ssl.SSLContext | None = None) -> None:
    """For ever, on the listening socket that comes over the channel. trusted: authorities of proxies of https://."""
    _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    listening, room = socket.socket(fileno=descriptors[0]), threading.BoundedSemaphore(MAX_CONNECTIONS)
    while True:
        inside, _ = listening.accept()
        room.acquire()
        threading.Thread(target=_serve_connection, args=(inside, rules, trusted, room), daemon=True).start()


def _serve_connection(
    inside: socket.socket, rules: EgressRules, trusted: ssl.SSLContext | None, room: threading.BoundedSemaphore
) -> None:
    with contextlib.ExitStack() as held, contextlib.suppress(OSError):
        held.callback(room.release)
        held.enter_context(inside)
        inside.settimeout(HEAD_S)
        try:
            request = read_request(inside)
            destination = _allowed(request, rules)
            by = rules.proxy("https" if request.is_tunnel else "http", request.host)
            outside = held.enter_context(
                _by_proxy(request, by, trusted) if by else _direct(request, destination, rules)
            )
        except ProxyRefusedError as refused:
            _log(refused.detail)
            inside.sendall(refused.answer())
            inside.shutdown(socket.SHUT_WR)
            return
        inside.settimeout(None)
        if request.is_tunnel:
            _tunnel(inside, outside, request.rest)
        else:
            outside.sendall(_head(request, by))
            relay.copy(outside, inside)


def _tunnel(inside: socket.socket, outside: socket.socket, rest: bytes) -> None:
    inside.sendall(ESTABLISHED)
    outside.sendall(rest)
    back = threading.Thread(target=relay.copy, args=(outside, inside), daemon=True)
    back.start()
    relay.copy(inside, outside)
    back.join()


def _head(request: ProxyRequest, by: str) -> bytes:
    host = request.host if request.port == HTTP_PORT else f"{request.host}:{request.port}"
    target = f"http://{host}{request.path}" if by else request.path
    own = f"{request.method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{_credentials(by)}"
    return own.encode() + request.headers + b"\r\n"


def _allowed(request: ProxyRequest, rules: EgressRules) -> EgressDestination:
    """Raises ProxyRefusedError."""
    found = rules.destination(request.host, request.port)
    if found is None:
        raise _refused(request, "it is no host of the package index.")
    return found


def _direct(request: ProxyRequest, destination: EgressDestination, rules: EgressRules) -> socket.socket:
    """A connection to the host itself, at one of its addresses that may be reached. Raises ProxyRefusedError."""
    host = request.host.strip("[]")
    try:
        found = socket.getaddrinfo(host, request.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ProxyRefusedError("502 Bad Gateway", f"{host} has no address: {error}") from error
    places = [(family, place) for family, _, _, _, place in found]
    if not destination.is_configured:
        may_be_private = any(map(_is_within_site, rules.destinations))
        places = [each for each in places if _may_be_at(str(each[1][0]), may_be_private=may_be_private)]
        if not places:
            raise _refused(request, "its address is private, and the package index itself is not in this network.")
    return _connected(places, f"{host}:{request.port}")


def _is_within_site(destination: EgressDestination) -> bool:
    """Whether this is the package index, and has an address of the site: then hosts that it links files at may, too."""
    if not destination.is_configured:
        return False
    try:
        found = socket.getaddrinfo(destination.host, destination.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return any(is_of_site(str(place[0])) for _, _, _, _, place in found)


def _may_be_at(address: str, *, may_be_private: bool) -> bool:
    return is_public(address) or (may_be_private and is_of_site(address))


def _by_proxy(request: ProxyRequest, by: str, trusted: ssl.SSLContext | None) -> socket.socket:
    """A connection to the site's proxy; of a tunnel, where it has connected to the host. Raises ProxyRefusedError."""
    address = urlsplit(by)
    if address.scheme not in PROXY_PORTS or not address.hostname:
        raise ProxyRefusedError(
            "502 Bad Gateway",
            f"The proxy of this machine is one of {address.scheme}://, which builds do not support; an administrator"
            " names one of http:// or https:// in HTTPS_PROXY and HTTP_PROXY.",
        )
    place = (address.hostname, address.port or PROXY_PORTS[address.scheme])
    try:
        found = socket.getaddrinfo(*place, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ProxyRefusedError("502 Bad Gateway", f"The proxy of this machine has no address: {error}") from error
    outside = _connected([(family, where) for family, _, _, _, where in found], "the proxy of this machine")
    if address.scheme == "https":
        outside = _encrypted(outside, trusted, address.hostname)
    if request.is_tunnel:
        try:
            _ask_for_tunnel(outside, f"{request.host}:{request.port}", by)
        except BaseException:
            outside.close()
            raise
    return outside


def _encrypted(outside: socket.socket, trusted: ssl.SSLContext | None, host: str) -> socket.socket:
    """Raises ProxyRefusedError."""
    from mlhub.runtime.sandbox.egress.tls_connections import TlsConnection

    assert trusted is not None, "start() reads the authorities where a proxy is one of https://"
    outside.settimeout(CONNECT_S)
    try:
        encrypted = TlsConnection(outside, trusted, host)
    except OSError as error:  # what TLS says is one, too
        raise ProxyRefusedError("502 Bad Gateway", f"The proxy of this machine is not trusted: {error}") from error
    encrypted.settimeout(None)
    return encrypted


def _ask_for_tunnel(outside: socket.socket, target: str, by: str) -> None:
    outside.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{_credentials(by)}\r\n".encode())
    outside.settimeout(CONNECT_S)
    answer = bytearray()
    while not answer.endswith(b"\r\n\r\n"):  # byte by byte: what follows is the host's
        data = outside.recv(1)
        if not data or len(answer) > MAX_HEAD_BYTES:
            raise ProxyRefusedError("502 Bad Gateway", "The proxy of this machine gave no answer.")
        answer += data
    status = bytes(answer).split(b"\r\n")[0].split(b" ", 2)
    if len(status) < 2 or status[1] != b"200":
        said = b" ".join(status[1:]).decode(errors="replace")
        raise ProxyRefusedError("502 Bad Gateway", f"The proxy of this machine answered: {said[:200]}")
    outside.settimeout(None)


def _credentials(by: str) -> str:
    address = urlsplit(by)
    if not address.username:
        return ""
    pair = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"


def _connected(places: Sequence[tuple[int, Any]], what: str) -> socket.socket:
    """Raises ProxyRefusedError."""
    problem: OSError | None = None
    for family, place in places:
        outside = socket.socket(family, socket.SOCK_STREAM)
        outside.settimeout(CONNECT_S)
        try:
            outside.connect(place)
        except OSError as error:
            problem = error
            outside.close()
            continue
        outside.settimeout(None)
        return outside
    raise ProxyRefusedError("502 Bad Gateway", f"{what} does not answer: {problem}")


def _refused(request: ProxyRequest, why: str) -> ProxyRefusedError:
    return ProxyRefusedError("403 Forbidden", f"{REFUSED} {request.host}:{request.port}: {why}")


def _log(detail: str) -> None:
    said = detail if detail.startswith(REFUSED) else f"{FAILED} {detail}"
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), f"{said}\n".encode())
