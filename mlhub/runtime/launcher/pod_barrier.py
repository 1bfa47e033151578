"""A barrier without a leader: a pod goes on once it has met every other member, and every other has met it.

Each member listens, and calls all others until they answer. A caller proves that it knows the gang's secret. Once a pod
has called and been called by everyone, nobody needs it here any more.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import socket
import threading
import time
from collections.abc import Mapping

EVERY_S = 0.5
LINGER_S = 1.0  # for a member whose call was answered, but lost on the way
CALL_TIMEOUT_S = 3.0
N_WAITING = 128
ANSWER = b"here\n"


class BarrierError(Exception):
    """The gang did not assemble in time; the message says who was missing."""


class _Door:
    """Listens, and notes who came."""

    def __init__(self, me: str, members: Mapping[str, str], secret: bytes) -> None:
        self.came: set[str] = set()
        self._words = {_word(secret, name, me): name for name in members if name != me}
        port = int(members[me].rpartition(":")[2])
        self._listener = _listen(port)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                threading.Thread(target=self._meet, args=(caller,), daemon=True).start()

    def _meet(self, caller: socket.socket) -> None:
        with contextlib.suppress(OSError), caller:
            caller.settimeout(CALL_TIMEOUT_S)
            name = self._words.get(caller.makefile("rb").readline(200).strip())
            if name is not None:
                caller.sendall(ANSWER)
                self.came.add(name)


def assemble(me: str, members: Mapping[str, str], *, secret: bytes, timeout_s: float) -> None:
    """Returns once every member is there. members: host:port by name, me among them. Raises BarrierError."""
    others = {name: address for name, address in members.items() if name != me}
    if not others:
        return
    until = time.monotonic() + timeout_s
    door = _Door(me, members, secret)
    met: set[str] = set()
    try:
        while True:
            met |= {name for name in others if name not in met and _call(others[name], _word(secret, me, name))}
            missing = sorted(set(others) - (met & door.came))
            if not missing:
                time.sleep(LINGER_S)
                return
            if time.monotonic() > until:
                raise BarrierError(f"After {timeout_s:.0f} s the gang still lacks {', '.join(missing)}.")
            time.sleep(EVERY_S)
    finally:
        door.close()


def _word(secret: bytes, caller: str, called: str) -> bytes:
    return hmac.new(secret, f"{caller} calls {called}".encode(), hashlib.sha256).hexdigest().encode()


def _call(address: str, word: bytes) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=CALL_TIMEOUT_S) as line:
            line.sendall(word + b"\n")
            return line.makefile("rb").readline(len(ANSWER)) == ANSWER
    except OSError:
        return False  # not there yet; also when its name is not known yet


def _listen(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=N_WAITING)
    return socket.create_server(("", port), backlog=N_WAITING)
