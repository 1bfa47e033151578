# SPDX-License-Identifier: Apache-2.0
"""GPUs that are reserved for owners in a round, by type, until jobs of theirs are granted as many."""

from __future__ import annotations


class Reservations:
    """Owners are tenants, or groups of them. Sums are kept up to date: it is asked for every grant."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], int] = {}
        self._in_all: dict[str, int] = {}

    def __bool__(self) -> bool:
        return any(self._in_all.values())

    def copy(self) -> Reservations:
        twin = Reservations()
        twin._open, twin._in_all = dict(self._open), dict(self._in_all)
        return twin

    def add(self, owner: str, gpu_type: str, n_gpus: int) -> None:
        key = (owner, gpu_type)
        self._open[key] = self._open.get(key, 0) + n_gpus
        self._in_all[gpu_type] = self._in_all.get(gpu_type, 0) + n_gpus

    def unserved(self, owner: str, gpu_type: str) -> int:
        """Of its own GPUs, those that no job of its was granted yet."""
        return self._open.get((owner, gpu_type), 0)

    def kept(self, owner: str, gpu_type: str) -> int:
        """GPUs that are others' own."""
        return self._in_all.get(gpu_type, 0) - self.unserved(owner, gpu_type)

    def serve(self, owner: str, gpu_type: str, n_gpus: int) -> int:
        """Grant the owner so many, as far as they are reserved for it; returns how many were. Negative: released."""
        served = min(n_gpus, self.unserved(owner, gpu_type))
        if served:
            self.add(owner, gpu_type, -served)
        return served
