# SPDX-License-Identifier: Apache-2.0
"""What strategies share whose workers exchange every few steps."""

from __future__ import annotations

from mlhub.runtime.strategies.toolkit.replicas import ReplicaStrategy


class PeriodicExchange(ReplicaStrategy):
    """A strategy that exchanges every `period` steps."""

    @property
    def exchange_index(self) -> int | None:
        """The index of the exchange at this step; None: there is none."""
        period = self.spec.parameters["period"]
        return None if self.n_workers == 1 or (self.done + 1) % period else self.done // period

    @property
    def seed(self) -> int:
        return self.pod.spec.training.seed
