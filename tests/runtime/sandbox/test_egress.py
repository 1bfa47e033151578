# SPDX-License-Identifier: Apache-2.0
"""The proxy of a sandbox that may reach named hosts: what it passes on, what it refuses, and to which addresses."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

import pytest

from mlhub.environments.enclosed.sources import PackageSources, egress_of, sources_of
from mlhub.runtime.sandbox.egress import proxy
from mlhub.runtime.sandbox.egress.rules import EgressDestination, EgressRules, is_of_site, is_public
from mlhub.runtime.sandbox.egress.tls_connections import TlsConnection, trusting
from tests.authorities import SiteAuthority, site_authority

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
Ask = Callable[[bytes], bytes]
WITHIN_S = 30


@contextlib.contextmanager
def server() -> Iterator[tuple[int, list[bytes]]]:
    """Answers each connection once a head has come: its port, and what it was sent."""
    received: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection:
                    received.append(connection.recv(2**16))
                    connection.sendall(ANSWER)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        yield listening.getsockname()[1], received


@contextlib.contextmanager
def asked(rules: EgressRules, trusted: ssl.SSLContext | None = None) -> Iterator[Ask]:
    """Sends bytes to a proxy with these rules, and returns all that it answers."""
    ours, its = socket.socketpair()
    threading.Thread(target=proxy.serve, args=(its, rules, trusted), daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as listening, ours:
        socket.send_fds(ours, [b"."], [listening.fileno()])
        place = listening.getsockname()

        def ask(sent: bytes) -> bytes:
            with socket.create_connection(place, WITHIN_S) as connection:
                connection.settimeout(WITHIN_S)
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                answer = b""
                with contextlib.suppress(ConnectionResetError):
                    while data := connection.recv(2**16):
                        answer += data
                return answer

        yield ask


def rules_of(port: int, *, is_configured: bool = True) -> EgressRules:
    return EgressRules((EgressDestination("127.0.0.1", port, is_configured),))


def test_a_plain_request_is_sent_on_with_a_head_of_its_own_and_one_connection_each():
    with server() as (port, received), asked(rules_of(port)) as ask:
        head = f"GET http://127.0.0.1:{port}/simple/x/?a=1 HTTP/1.1\r\nHost: elsewhere\r\nAccept: */*\r\n"
        sent = f"{head}Proxy-Authorization: Basic eA==\r\nConnection: keep-alive\r\n\r\nGET /hidden HTTP/1.1\r\n\r\n"
        assert ask(sent.encode()) == ANSWER
    own = f"GET /simple/x/?a=1 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nAccept: */*\r\n\r\n"
    assert received == [own.encode()]


def test_a_tunnel_carries_bytes_both_ways():
    with server() as (port, received), asked(rules_of(port)) as ask:
        answer = ask(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello".encode())
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n" + ANSWER
    assert received == [b"hello"]


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("CONNECT 127.0.0.1:{other} HTTP/1.1", b"403"),
        ("CONNECT localhost:{port} HTTP/1.1", b"403"),
        ("CONNECT 127.1:{port} HTTP/1.1", b"403"),
        ("CONNECT 2130706433:{port} HTTP/1.1", b"403"),
        ("CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1", b"403"),
        ("CONNECT 169.254.169.254:80 HTTP/1.1", b"403"),
        ("CONNECT 127.0.0.1:{port}@evil.example.org:{port} HTTP/1.1", b"400"),
        ("CONNECT 127.0.0.1:0 HTTP/1.1", b"400"),
        ("CONNECT 127.0.0.1 HTTP/1.1", b"400"),
        ("GET http://127.0.0.1:{port}@169.254.169.254/ HTTP/1.1", b"400"),
        ("GET http://169.254.169.254/latest HTTP/1.1", b"403"),
        ("GET https://127.0.0.1:{port}/ HTTP/1.1", b"400"),
        ("GET / HTTP/1.1", b"400"),
        ("POST http://127.0.0.1:{port}/ HTTP/1.1", b"400"),
        ("PUT http://127.0.0.1:{port}/ HTTP/1.1", b"400"),
        ("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nContent-Length: 5", b"413"),
        ("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nTransfer-Encoding: chunked", b"413"),
        ("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nX: y\n Y: z", b"400"),
        ("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nno header", b"400"),
        ("GET http://127.0.0.1:{port}/\thidden HTTP/1.1", b"400"),
    ],
)
def test_what_is_not_an_allowed_host_and_port_or_is_malformed_is_refused(head: str, status: bytes):
    with server() as (port, received), server() as (other, elsewhere), asked(rules_of(port)) as ask:
        answer = ask(head.format(port=port, other=other).encode() + b"\r\n\r\n")
        assert answer.split(b" ")[1:2] == [status], answer
    assert (received, elsewhere) == ([], [])


def test_a_host_that_is_not_the_index_is_refused_at_an_address_of_this_machine():
    with server() as (port, received):
        rules = EgressRules(
            (EgressDestination("127.0.0.1", port, False), EgressDestination("127.0.0.1", port + 1, True))
        )
        with asked(rules) as ask:
            assert b" 403 " in ask(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
    assert received == []


@pytest.mark.parametrize(
    ("address", "public", "of_site"),
    [
        ("1.1.1.1", True, False), ("2606:4700::1", True, False), ("10.0.0.1", False, True), ("172.16.0.1", False, True),
        ("192.168.1.1", False, True), ("127.0.0.1", False, False), ("::1", False, False), ("0.0.0.0", False, False),
        ("169.254.169.254", False, False), ("fe80::1%eth0", False, False), ("fd00:ec2::254", False, False),
        ("::ffff:127.0.0.1", False, False),
        ("::ffff:10.0.0.1", False, True), ("64:ff9b::7f00:1", False, False), ("2002:7f00:1::", False, False),
        ("224.0.0.1", False, False), ("nonsense", False, False),
    ],
)  # fmt: skip
def test_which_addresses_are_of_the_internet_and_which_of_the_site(address: str, public: bool, of_site: bool):
    assert is_public(address) == public
    assert is_of_site(address) == of_site


def hosts(rules: EgressRules) -> set[tuple[str, int, bool]]:
    return {(each.host, each.port, each.is_configured) for each in rules.destinations}


def test_the_hosts_are_those_of_the_index_however_it_is_configured(tmp_path):
    own = tmp_path / "uv.toml"
    own.write_text('find-links = ["https://links.example.org/x"]\n[[index]]\nurl = "https://a.example.org/simple"\n')
    variables = {"UV_INDEX": "b=https://B.example.org:8443/simple file:///srv/wheels", "UV_TORCH_BACKEND": "cpu"}
    found = sources_of("", "", variables, [own])
    assert [str(path) for path in found.paths] == ["/srv/wheels"]
    assert hosts(egress_of(found, {}, ["files.example.org", "c.example.org:444"])) == {
        ("links.example.org", 443, True), ("a.example.org", 443, True), ("b.example.org", 8443, True),
        ("pypi.org", 443, True), ("files.pythonhosted.org", 443, False), ("download.pytorch.org", 443, True),
        ("download-r2.pytorch.org", 443, False), ("pypi.nvidia.com", 443, False), ("files.example.org", 443, False),
        ("c.example.org", 444, False),
    }  # fmt: skip
    assert hosts(egress_of(sources_of("", str(tmp_path), {}, []), {}, [])) == set(), "a wheelhouse alone needs none"


def test_proxies_of_the_site_are_taken_as_uv_takes_them():
    variables = {
        "HTTPS_PROXY": "https.example.org:3128",
        "all_proxy": "http://all.example.org",
        "NO_PROXY": ".corp, x.org",
    }
    rules = egress_of(PackageSources(), variables, [])
    assert rules.proxy("https", "pypi.org") == "http://https.example.org:3128"
    assert rules.proxy("http", "pypi.org") == "http://all.example.org"
    assert [rules.proxy("https", host) for host in ("a.corp", "x.org", "deep.x.org")] == ["", "", ""]
    assert rules.proxy("https", "notx.org") != ""


def test_a_proxy_of_the_site_that_is_reached_by_tls_carries_tunnels_and_plain_requests(tmp_path):
    authority = site_authority(tmp_path)
    with server() as (port, received), site_proxy(authority) as (address, heads):
        with asked(behind(address, port), trusting(authority.certificate.read_text())) as ask:
            assert ask(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello".encode()).endswith(ANSWER)
            assert ask(f"GET http://127.0.0.1:{port}/simple/ HTTP/1.1\r\n\r\n".encode()) == ANSWER
        with asked(behind(address, port), trusting("")) as ask:
            refused = ask(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello".encode())
    assert b" 502 " in refused
    assert b"certificate verify failed" in refused
    assert received[0] == b"hello"
    assert [head.split(b"\r\n")[0] for head in heads] == [
        f"CONNECT 127.0.0.1:{port} HTTP/1.1".encode(), f"GET http://127.0.0.1:{port}/simple/ HTTP/1.1".encode()
    ]  # fmt: skip
    assert all(b"Basic YWRhOnBAc3M=" in head for head in heads)


def test_tls_to_a_proxy_carries_much_both_ways_at_once(tmp_path):
    """What one side sends does not wait for what the other side has not read."""
    authority, much = site_authority(tmp_path), bytes(range(256)) * 2**14  # 4 MiB: more than all buffers hold
    with socket.create_server(("127.0.0.1", 0)) as listening:
        echoed = threading.Thread(target=_echo, args=(listening, authority), daemon=True)
        echoed.start()
        plain = socket.create_connection(listening.getsockname(), WITHIN_S)
        with TlsConnection(plain, trusting(authority.certificate.read_text()), "127.0.0.1") as connection:
            sending = threading.Thread(target=relay_all, args=(connection, much), daemon=True)
            sending.start()
            received = bytearray()
            while data := connection.recv(2**16):
                received += data
            sending.join(WITHIN_S)
    echoed.join(WITHIN_S)
    assert received == much


def relay_all(connection: TlsConnection, data: bytes) -> None:
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


def _echo(listening: socket.socket, authority: SiteAuthority) -> None:
    connection, _ = listening.accept()
    with authority.for_server().wrap_socket(connection, server_side=True) as secured:
        while data := secured.recv(2**16):
            secured.sendall(data)


def test_a_proxy_of_socks_is_refused_with_what_is_supported():
    with server() as (port, received):
        rules = EgressRules((EgressDestination("127.0.0.1", port, True),), (("https", "socks5://127.0.0.1:1080"),))
        with asked(rules) as ask:
            answer = ask(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
    assert b"socks5://, which builds do not support" in answer
    assert b"http:// or https://" in answer
    assert received == []


def behind(address: str, port: int) -> EgressRules:
    proxies = tuple((scheme, f"https://ada:p%40ss@{address}") for scheme in ("http", "https"))
    return EgressRules((EgressDestination("127.0.0.1", port, True),), proxies)


@contextlib.contextmanager
def site_proxy(authority: SiteAuthority) -> Iterator[tuple[str, list[bytes]]]:
    """A forward proxy that is reached by TLS: its address, and the heads of what it was asked for."""
    heads: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=pass_on, args=(connection,), daemon=True).start()

    def pass_on(connection: socket.socket) -> None:
        with (
            contextlib.suppress(OSError),
            authority.for_server().wrap_socket(connection, server_side=True) as inside,
        ):
            head = inside.recv(2**16)
            heads.append(head)
            words = head.split(b" ")
            port = re.search(rb":(\d+)", words[1])
            assert port is not None
            with socket.create_connection(("127.0.0.1", int(port[1]))) as outside:
                if words[0] == b"CONNECT":
                    inside.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    head = inside.recv(2**16)
                outside.sendall(head)
                open_ends: list[socket.socket] = [inside, outside]
                while outside in open_ends:
                    ready = [inside] if inside.pending() else select.select(open_ends, [], [])[0]
                    for each in ready:
                        data = each.recv(2**16)
                        if not data:
                            open_ends.remove(each)
                        (outside if each is inside else inside).sendall(data)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}", heads
