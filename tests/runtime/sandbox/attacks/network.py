# SPDX-License-Identifier: Apache-2.0
"""Attacks over sockets: the platform's servers, the cloud's, the internet."""

from __future__ import annotations

from tests.runtime.sandbox.attacks.attack import NOBODY, ROOT, Attack

NETWORK = (
    Attack(
        "connects to the database",
        "attempt(lambda: socket.create_connection(('127.0.0.1', bait['tcp']), 2))",
        aims_at="network",
    ),
    Attack(
        "connects to the broker's socket",
        "s = socket.socket(socket.AF_UNIX) if 1 else 0; attempt(lambda: s.connect(bait['unix']))",
        aims_at="network",
    ),
    Attack(
        "connects to an abstract socket",
        "s = socket.socket(socket.AF_UNIX); attempt(lambda: s.connect(chr(0) + bait['abstract']))",
        aims_at="network",
    ),
    Attack(
        "sends a datagram",
        """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('127.0.0.1', bait['udp'])); s.send(bait['token'].encode())
time.sleep(0.1)
try: s.send(b'again'); breach()
except OSError as error: print('refused:', error)
""",
        aims_at="network",
    ),
    Attack(
        "asks the cloud's metadata server",
        "attempt(lambda: socket.create_connection(('169.254.169.254', 80), 1))",
        NOBODY,
        aims_at="network",
    ),
    Attack(
        "reaches the internet",
        "attempt(lambda: socket.create_connection(('1.1.1.1', 53), 1))",
        NOBODY,
        aims_at="network",
    ),
    Attack(
        "sniffs packets",
        "attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3))",
        frozenset({ROOT}),
        aims_at="network",
    ),
    Attack(
        "makes a raw socket",
        "attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))",
        frozenset({ROOT}),
        aims_at="network",
    ),
    Attack(
        "uses the kernel's ciphers",
        "attempt(lambda: socket.socket(38, socket.SOCK_SEQPACKET, 0))",
        NOBODY,
        aims_at="network",
    ),
    Attack(
        "speaks to the host of a virtual machine",
        "attempt(lambda: socket.socket(40, socket.SOCK_STREAM))",
        NOBODY,
        aims_at="network",
    ),
    Attack(
        "speaks to the audit system",
        "attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9))",
        aims_at="network",
    ),
)
