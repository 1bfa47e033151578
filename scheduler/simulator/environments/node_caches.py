# SPDX-License-Identifier: Apache-2.0
"""The caches of simulated nodes: each keeps the inputs that it used last, as far as there is room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scheduler.api.snapshot import GangAllocation
from scheduler.api.topology import FETCH_BPS, InputSet

CACHE_BYTES = 32 * 2**30  # as nodes of the platform have


class NodeCaches:
    """sizes: of what jobs read, in bytes by name. cache_bytes: of each node. fetch_bps: of each gang's nodes."""

    def __init__(
        self, sizes: Mapping[str, int], *, cache_bytes: int = CACHE_BYTES, fetch_bps: float = FETCH_BPS
    ) -> None:
        self._sizes, self._cache_bytes, self._fetch_bps = dict(sizes), cache_bytes, fetch_bps
        self._held: dict[str, dict[str, int]] = {}  # by node, the least recently used first
        self._sets: tuple[InputSet, ...] | None = None

    def fetch_s(self, inputs: str, allocation: GangAllocation) -> float:
        """Returns the seconds until all nodes of a gang have its inputs, which they hold from then on."""
        size_bytes = self._sizes.get(inputs, 0)
        lacking = [self._use(share.node, inputs, size_bytes) for share in allocation.shares if size_bytes]
        return 8 * size_bytes / self._fetch_bps if any(lacking) else 0.0

    @property
    def input_sets(self) -> Sequence[InputSet]:
        """Returns what is held of each of them, and by which nodes."""
        if self._sets is None:
            self._sets = tuple(
                InputSet(name, n, tuple((node, n) for node in sorted(self._held) if name in self._held[node]))
                for name, n in sorted(self._sizes.items())
            )
        return self._sets

    def _use(self, node: str, inputs: str, size_bytes: int) -> bool:
        """Whether the node lacked them. What is larger than the cache is gone again once something else is used."""
        held = self._held.setdefault(node, {})
        was_lacking = held.pop(inputs, None) is None
        held[inputs] = size_bytes
        while was_lacking and len(held) > 1 and sum(held.values()) > self._cache_bytes:
            del held[next(iter(held))]
        if was_lacking:
            self._sets = None
        return was_lacking
