# SPDX-License-Identifier: Apache-2.0
"""A user id for each run, where the platform is root: what one run leaves in the kernel or on disk is no other's."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

# above the ranges that systemd and container engines give out, below 2^31
FIRST, N_IDS = 1_879_048_192, 2**27
# where only 65,536 ids exist, as in many containers: above those of people, below systemd's dynamic users
FIRST_SMALL, N_IDS_SMALL = 55_000, 6_000


def fresh_uid() -> int | None:
    """An id that no account has; None when this process may not change its user, or has no such ids."""
    ids = _ids()
    return None if ids is None else ids[0] + secrets.randbelow(ids[1])


def uid_of(tenant: str) -> int | None:
    """The id that all pods of a tenant have, always the same, so that one can read what another one left."""
    ids = _ids()
    if ids is None:
        return None
    return ids[0] + int.from_bytes(hashlib.sha256(tenant.encode()).digest()[:8], "big") % ids[1]


def _ids() -> tuple[int, int] | None:
    """(first, how many) that this process can give away."""
    if os.geteuid() != 0:
        return None
    ranges = ((FIRST, N_IDS), (FIRST_SMALL, N_IDS_SMALL))
    return next((each for each in ranges if _is_mapped(*each)), None)


def _is_mapped(first: int, count: int) -> bool:
    """Whether this process's user namespace knows all these ids."""
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        inside, _, length = map(int, line.split())
        if inside <= first and first + count <= inside + length:
            return True
    return False
