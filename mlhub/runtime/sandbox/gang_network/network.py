# SPDX-License-Identifier: Apache-2.0
"""The network of a gang whose pods run on one machine: a namespace of its own, whose only way out is the ingest API.

A gang's pods share the namespace: the first one makes it, the others join it. Each pod has a relay, a process that
stays in the network of the host and passes requests on (relay.py): a socket belongs to the network in which it was
made, so the relay accepts on a socket that was made inside. Standard library only: used by init.py before the pod's
program starts.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mlhub.runtime.sandbox import kernel
from mlhub.runtime.sandbox.gang_network import relay

MEMBERS = "network.members"


def join(gang_folder: str, *, is_root: bool, map_ids: Callable[[], None]) -> None:
    """Enters the network namespace of the gang's living pods, or a new one, in a user namespace unless this is root.

    map_ids: gives this user its own ids in a new user namespace. Raises OSError.
    """
    with open(f"{gang_folder}/{MEMBERS}", "a+") as members:
        fcntl.flock(members, fcntl.LOCK_EX)
        members.seek(0)
        if not any(_enter(*map(int, line.split()), is_root=is_root) for line in members):
            kernel.unshare(kernel.CLONE_NEWNET | (0 if is_root else kernel.CLONE_NEWUSER))
            if not is_root:
                map_ids()
            kernel.raise_loopback()
        members.write(f"{os.getpid()} {_start_time(os.getpid())}\n")


@dataclass(frozen=True)
class Relay:
    """pid: a child of this process. channel: where listen() sends the listening socket. purpose: for errors."""

    pid: int
    channel: socket.socket
    purpose: str


def start_relay(host: str, port: int, *, paths: str, drop_rights: Callable[[], None]) -> Relay:
    """Forks the relay to the ingest API; call it before join(). paths: as relay.serve() takes them.

    drop_rights: takes from the relay what it does not need. Raises OSError when the host has no address.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)  # its module may be out of reach afterwards
    targets = [(family, address) for family, _, _, _, address in found]
    targets = [target for target in targets if target[1][0] != "::1"] or targets
    return fork_relay(
        lambda channel: relay.serve(channel, targets, paths=paths),
        purpose="the pod with the platform",
        drop_rights=drop_rights,
    )


def fork_relay(serve: Callable[[socket.socket], None], *, purpose: str, drop_rights: Callable[[], None]) -> Relay:
    """Forks a process that stays in the present network and serves there, given the channel that listen() uses."""
    ours, its = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            descriptor = os.dup2(its.fileno(), 3)
            os.closerange(4, 2**16)  # among them the report's: who reads it waits until all have closed it
            drop_rights()
            serve(socket.socket(fileno=descriptor))
        os._exit(1)
    its.close()
    return Relay(pid, ours, purpose)


def listen(started: Relay, host: str, port: int) -> None:
    """Call it after join(): from now on a connection to this address reaches the relay. Raises OSError."""
    address = inside_address(host)
    if not address.startswith("127."):
        kernel.add_loopback_address(address)
    with started.channel, socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # every pod of the gang has a relay
        listening.bind((address, port))
        listening.listen(128)
        socket.send_fds(started.channel, [b"."], [listening.fileno()])


def inside_address(host: str) -> str:
    """Where the ingest API is found in the gang's network: at its own IPv4 address, else at 127.0.0.1."""
    with contextlib.suppress(OSError):
        socket.inet_aton(host)
        return host if host.count(".") == 3 else "127.0.0.1"
    return "127.0.0.1"


def _enter(pid: int, started: int, *, is_root: bool) -> bool:
    """Whether that process lives; this one is then in its network and, unless it is root, in its user namespace."""
    with contextlib.ExitStack() as opened:
        try:
            user, network = (os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in ("user", "net"))
        except OSError:
            return False
        for descriptor in (user, network):
            opened.callback(os.close, descriptor)
        if _start_time(pid) != started:
            return False
        if not is_root:
            kernel.setns(user, kernel.CLONE_NEWUSER)
        kernel.setns(network, kernel.CLONE_NEWNET)
        return True


def _start_time(pid: int) -> int | None:
    """In clock ticks since the machine started; distinguishes a process from a later one with the same number."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return None
