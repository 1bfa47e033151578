"""A user id for each run, where the platform is root: what one run leaves in the kernel or on disk is no other's."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

# above the ranges that systemd and container engines give out, below 2^31
FIRST, N_IDS = 1_879_048_192, 2**27
# where only 65,536 ids exist, as in many containers: above those of people, below systemd's dynamic users
FIRST_SMALL, N_IDS_SMALL = 55_000, 6_000


def fresh_uid() -> int | None:
    """An id that no account has; None when this process may not change its user, or has no such ids."""
    if os.geteuid() != 0:
        return None
    for first, count in ((FIRST, N_IDS), (FIRST_SMALL, N_IDS_SMALL)):
        if _is_mapped(first, count):
            return first + secrets.randbelow(count)
    return None


def _is_mapped(first: int, count: int) -> bool:
    """Whether this process's user namespace knows all these ids."""
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        inside, _, length = map(int, line.split())
        if inside <= first and first + count <= inside + length:
            return True
    return False
