# SPDX-License-Identifier: Apache-2.0
"""Identifiers: UUID version 7, so that they sort by time and B-trees stay dense."""

from __future__ import annotations

import os
import threading
import time
import uuid

_lock = threading.Lock()
_newest = 0


def new_id() -> uuid.UUID:
    """A UUIDv7: milliseconds (48 bits), their 4096ths (12 bits), random bits (62).

    Those of one process rise strictly, so that a page "newest first" by id is one, even within a millisecond.
    Source: RFC 9562, sec. 5.7 and 6.2 (method 3).
    """
    global _newest
    milliseconds, rest_ns = divmod(time.time_ns(), 1_000_000)
    with _lock:
        ticks = _newest = max(_newest + 1, milliseconds << 12 | (rest_ns << 12) // 1_000_000)
    random = int.from_bytes(os.urandom(8), "big") & (2**62 - 1)
    return uuid.UUID(int=(ticks >> 12) << 80 | 0x7 << 76 | (ticks & 0xFFF) << 64 | 0x2 << 62 | random)
