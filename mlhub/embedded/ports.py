# SPDX-License-Identifier: Apache-2.0
"""Free ports of the loopback interface."""

from __future__ import annotations

import random
import socket
from pathlib import Path

FIRST = 10_000
EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
N_TRIES = 200


def free_port() -> int:
    """A port that no process listens on now; ask late, use soon.

    It lies below the ports that the kernel chooses from, where there are some: no connection takes it in between.
    """
    below = int(EPHEMERAL_RANGE.read_text().split()[0])
    ports = range(FIRST, below)
    for port in random.SystemRandom().sample(ports, min(N_TRIES, len(ports))):
        if is_free(port):
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        given: int = probe.getsockname()[1]
        return given


def is_free(port: int) -> bool:
    """Whether a server could bind to this port now; ports in TIME_WAIT count as free, as servers set SO_REUSEADDR."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
