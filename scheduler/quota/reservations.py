# SPDX-License-Identifier: Apache-2.0
"""GPUs that are reserved for owners in a round, by type, until jobs of theirs are granted as many."""

from __future__ import annotations


class Reservations:
    """Keeps GPUs for owners, which are tenants or groups of them.

    Sums are kept up to date, since every grant reads them.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], int] = {}
        self._in_all: dict[str, int] = {}

    def __bool__(self) -> bool:
        return any(self._in_all.values())

    def copy(self) -> Reservations:
        """Returns a copy that is granted from independently."""
        twin = Reservations()
        twin._open, twin._in_all = dict(self._open), dict(self._in_all)
        return twin

    def add(self, owner: str, gpu_type: str, n_gpus: int) -> None:
        """Reserves GPUs of a type for the owner."""
        key = (owner, gpu_type)
        self._open[key] = self._open.get(key, 0) + n_gpus
        self._in_all[gpu_type] = self._in_all.get(gpu_type, 0) + n_gpus

    def unserved(self, owner: str, gpu_type: str) -> int:
        """Returns those of the owner's GPUs that none of its jobs was granted yet."""
        return self._open.get((owner, gpu_type), 0)

    def kept(self, owner: str, gpu_type: str) -> int:
        """Returns the GPUs that are reserved for others."""
        return self._in_all.get(gpu_type, 0) - self.unserved(owner, gpu_type)

    def serve(self, owner: str, gpu_type: str, n_gpus: int) -> int:
        """Grants the owner so many, as far as they are reserved for it, and returns how many were.

        Negative: released.
        """
        served = min(n_gpus, self.unserved(owner, gpu_type))
        if served:
            self.add(owner, gpu_type, -served)
        return served
