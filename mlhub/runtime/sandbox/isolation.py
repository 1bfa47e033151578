# SPDX-License-Identifier: Apache-2.0
"""What may isolate a run: the combinations that this kernel and installation could have, and user ids of its own."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mlhub.runtime.sandbox import landlock, syscall_filter

SCOPES_SIGNALS_FROM = 6  # version of Landlock
# above the ranges that systemd and container engines give out, below 2^31
FIRST, N_IDS = 1_879_048_192, 2**27
# where only 65,536 ids exist, as in many containers: above those of people, below systemd's dynamic users
FIRST_SMALL, N_IDS_SMALL = 55_000, 6_000


@dataclass(frozen=True)
class Isolation:
    """has_namespaces: of mounts, processes, network, IPC, names. has_own_user: each run gets a user id of its own.

    confines_signals: by Landlock, from version 6 on, whatever else there is.
    """

    has_namespaces: bool
    has_own_user: bool
    has_landlock: bool
    has_filter: bool
    confines_signals: bool = True

    def uid(self) -> int | None:
        return fresh_uid() if self.has_own_user else None


def candidates() -> Iterator[Isolation]:
    """From the strongest to the weakest that this kernel and installation could have."""
    has_landlock, has_filter = landlock.version() > 0, syscall_filter.is_available()
    confines_signals = landlock.version() >= SCOPES_SIGNALS_FROM
    can_change_user = fresh_uid() is not None
    for has_namespaces in (True, False):
        for has_own_user in (True, False) if can_change_user else (False,):
            yield Isolation(has_namespaces, has_own_user, has_landlock, has_filter, confines_signals)


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
