# SPDX-License-Identifier: Apache-2.0
"""Free ports of the loopback interface."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port that no process listens on now; ask late, use soon."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    """Whether a server could bind to this port now; ports in TIME_WAIT count as free, as servers set SO_REUSEADDR."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
