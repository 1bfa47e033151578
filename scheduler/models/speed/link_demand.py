# SPDX-License-Identifier: Apache-2.0
"""What a gang asks of the links between its nodes, and how its step grows where they give it less."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.models.network.flows import Flow
from scheduler.models.speed.fitting import ALWAYS_EXPOSED


@dataclass(frozen=True)
class LinkDemand:
    """Describes a gang alone at a place: step_s, of which compute_s hides traffic; latency_s and wire_s of
    synchronisation.

    hides: the part of compute_s under which traffic hides. declared_per_step: declared steps that one step here counts
    for, less than 1 where its batch is smaller.
    """

    flow: Flow
    step_s: float
    compute_s: float
    latency_s: float
    wire_s: float
    hides: float
    declared_per_step: float = 1.0

    def slower_step_s(self, wire_s: float) -> float:
        """Returns the seconds of the step if its bytes take wire_s instead."""
        more_s = self._exposed_s(self.latency_s + wire_s) - self._exposed_s(self.latency_s + self.wire_s)
        return self.step_s + max(0.0, more_s)

    def duty(self, wire_s: float) -> float:
        """Returns the part of the time in which it sends then, 0 to 1."""
        return min(1.0, wire_s / max(self.slower_step_s(wire_s), 1e-9))

    def _exposed_s(self, sync_s: float) -> float:
        return max(ALWAYS_EXPOSED * sync_s, sync_s - self.hides * self.compute_s) if self.hides else sync_s
