# SPDX-License-Identifier: Apache-2.0
"""One GET request to an address of a user's choice: each host on the way is checked before it is called."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from mlhub._version import __version__
from mlhub.core.security.certificates import public_authorities
from mlhub.core.security.destinations import (
    AllowedInside,
    Destination,
    DestinationError,
    UnknownHostError,
    resolve_blocking,
)
from mlhub.datasets.sources.failure import FetchError
from mlhub.datasets.sources.locations import WebAddress

MAX_REDIRECTS = 5
TIMEOUT = httpx.Timeout(30.0, connect=10.0)  # between two bytes
HEAD_TIMEOUT_S = 60.0  # for all of an answer's headers
CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")
REVISION = "X-Repo-Commit"  # of the hub: the commit that a branch or tag names


class AwayError(Exception):
    """The connection failed or the server is busy: the same request may succeed later."""


@dataclass(frozen=True)
class WebAnswer:
    """revision: of the hub, on any hop; "" elsewhere."""

    response: httpx.Response
    revision: str

    @property
    def etag(self) -> str:
        return self.response.headers.get("ETag", "")


@contextmanager
def opened(address: WebAddress, headers: Mapping[str, str], inside: AllowedInside) -> Iterator[WebAnswer]:
    """The answer after redirects, its body unread. Raises FetchError, AwayError, httpx.TransportError.

    Secrets go to the first address's own origin alone.
    """
    url, secret, revision = httpx.URL(address.url), dict(address.headers), ""
    for _ in range(MAX_REDIRECTS + 1):
        to = _resolved(str(url), inside)
        # a client of its own: connections and cookies are kept by address, which several names may share
        with httpx.Client(
            timeout=TIMEOUT, trust_env=False, follow_redirects=False, verify=public_authorities()
        ) as client:
            with _head_in_time() as trace, _trusted(to.host):
                response = client.send(_request(client, url, to, {**headers, **secret}, trace), stream=True)
            try:
                revision = revision or response.headers.get(REVISION, "")[:100]
                if not response.has_redirect_location:
                    yield WebAnswer(response, revision)
                    return
                following = url.join(response.headers["Location"])
            finally:
                response.close()
        if (following.scheme, following.host, following.port) != (url.scheme, url.host, url.port):
            secret = {}
        url = following
    raise FetchError(
        "too_many_redirects", f"The address leads on more than {MAX_REDIRECTS} times.", "Give the final address."
    )


@contextmanager
def _trusted(host: str) -> Iterator[None]:
    """Raises FetchError where the server's certificate is not trusted: it will not be at the next try, either."""
    try:
        yield
    except httpx.ConnectError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
            cause = cause.__cause__ or cause.__context__
        if cause is None:
            raise
        raise FetchError(
            "untrusted_certificate",
            f"The certificate of {host} is not trusted: {cause.verify_message}.",
            "Check the name in the address; an administrator names the certificate of a private authority in "
            "MLHUB_CA_FILE.",
        ) from error


@contextmanager
def _head_in_time() -> Iterator[Callable[[str, Mapping[str, Any]], None]]:
    """A trace of httpx for a request within the block: its connection is cut if the block takes too long.

    A server that sends a header's letter now and then would pass the time limit between two bytes for hours.
    """
    connections: list[socket.socket] = []

    def trace(event: str, facts: Mapping[str, Any]) -> None:
        if event in CONNECTED:
            connections.append(facts["return_value"].get_extra_info("socket"))

    def cut() -> None:
        for connection in connections[-1:]:  # that of TLS, where there is one
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(HEAD_TIMEOUT_S, cut)
    timer.daemon = True
    timer.start()
    try:
        yield trace
    finally:
        timer.cancel()


def _request(
    client: httpx.Client,
    url: httpx.URL,
    to: Destination,
    headers: Mapping[str, str],
    trace: Callable[[str, Mapping[str, Any]], None],
) -> httpx.Request:
    """To the address that was checked; certificate and header are those of the name."""
    sent = {
        "Host": url.netloc.decode(),
        "User-Agent": f"MLHub/{__version__}",
        "Accept-Encoding": "identity",  # ranges and digests are of the file's own bytes
        **headers,
    }
    return client.build_request(
        "GET", url.copy_with(host=to.address), headers=sent, extensions={"sni_hostname": to.host, "trace": trace}
    )


def _resolved(url: str, inside: AllowedInside) -> Destination:
    try:
        return resolve_blocking(url, inside)
    except UnknownHostError as error:
        raise AwayError(str(error)) from error
    except DestinationError as error:
        raise FetchError(
            "forbidden_address",
            f"This address is not called: {error}",
            f"Give a public address by https, or ask an administrator to allow the host in {inside.setting}.",
        ) from error
