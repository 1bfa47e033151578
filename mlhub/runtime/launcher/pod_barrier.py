# SPDX-License-Identifier: Apache-2.0
"""A barrier without a leader: a pod passes once it has reached every other member, and every other has reached it.

Each member listens, and connects to all others until they reply. A caller proves that it knows the gang's secret. Once
a pod has called and been called by all others, no member waits for it any more.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import socket
import threading
import time
from collections.abc import Mapping

RETRY_S = 0.5
LINGER_S = 1.0  # for a member to which the reply was lost on the way
CALL_TIMEOUT_S = 3.0
N_WAITING = 128
REPLY = b"here\n"


class BarrierError(Exception):
    """The gang did not assemble in time; the message names who was missing."""


class _BarrierListener:
    """Accepts the calls of other members, and records who called."""

    def __init__(self, me: str, members: Mapping[str, str], secret: bytes) -> None:
        self.called: set[str] = set()
        self._proofs = {_proof(secret, name, me): name for name in members if name != me}
        port = int(members[me].rpartition(":")[2])
        self._listener = _listen(port)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                threading.Thread(target=self._receive, args=(caller,), daemon=True).start()

    def _receive(self, caller: socket.socket) -> None:
        with contextlib.suppress(OSError), caller:
            caller.settimeout(CALL_TIMEOUT_S)
            name = self._proofs.get(caller.makefile("rb").readline(200).strip())
            if name is not None:
                caller.sendall(REPLY)
                self.called.add(name)


def assemble(me: str, members: Mapping[str, str], *, secret: bytes, timeout_s: float) -> None:
    """Returns once every member is there. members: host:port by name, me among them. Raises BarrierError."""
    others = {name: address for name, address in members.items() if name != me}
    if not others:
        return
    until = time.monotonic() + timeout_s
    listener = _BarrierListener(me, members, secret)
    met: set[str] = set()
    try:
        while True:
            met |= {name for name in others if name not in met and _call(others[name], _proof(secret, me, name))}
            missing = sorted(set(others) - (met & listener.called))
            if not missing:
                time.sleep(LINGER_S)
                return
            if time.monotonic() > until:
                raise BarrierError(f"After {timeout_s:.0f} s the gang still lacks {', '.join(missing)}.")
            time.sleep(RETRY_S)
    finally:
        listener.close()


def _proof(secret: bytes, caller: str, called: str) -> bytes:
    return hmac.new(secret, f"{caller} calls {called}".encode(), hashlib.sha256).hexdigest().encode()


def _call(address: str, proof: bytes) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=CALL_TIMEOUT_S) as line:
            line.sendall(proof + b"\n")
            return line.makefile("rb").readline(len(REPLY)) == REPLY
    except OSError:
        return False  # not there yet; also when its name is not known yet


def _listen(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=N_WAITING)
    return socket.create_server(("", port), backlog=N_WAITING)
