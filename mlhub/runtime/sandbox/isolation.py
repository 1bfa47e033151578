# SPDX-License-Identifier: Apache-2.0
"""What may isolate a run: the combinations that this kernel and installation could have, strongest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlhub.runtime.sandbox import landlock, syscall_filter, users

SCOPES_SIGNALS_FROM = 6  # version of Landlock


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
        return users.fresh_uid() if self.has_own_user else None


def candidates() -> Iterator[Isolation]:
    """From the strongest to the weakest that this kernel and installation could have."""
    has_landlock, has_filter = landlock.version() > 0, syscall_filter.is_available()
    confines_signals = landlock.version() >= SCOPES_SIGNALS_FROM
    can_change_user = users.fresh_uid() is not None
    for has_namespaces in (True, False):
        for has_own_user in (True, False) if can_change_user else (False,):
            yield Isolation(has_namespaces, has_own_user, has_landlock, has_filter, confines_signals)
