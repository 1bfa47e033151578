# SPDX-License-Identifier: Apache-2.0
"""Pods that are processes of a machine, as gang_rules judges them: of the local backend and of agents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mlhub.wire.exits import Cause
from mlhub.wire.launch import PodPlacement, PodRole


@dataclass(frozen=True)
class PodExit:
    """How a pod ended. code: as shells write it; made up where what watched the pod is gone."""

    code: int
    cause: Cause | None
    message: str
    at: datetime


@dataclass(frozen=True)
class PodState:
    """One pod as its machine shows it. ending: None while it may still run."""

    placement: PodPlacement
    has_started: bool
    ending: PodExit | None

    @property
    def role(self) -> PodRole:
        return self.placement.role

    @property
    def index(self) -> int:
        return self.placement.index

    @property
    def node(self) -> str:
        return self.placement.node

    @property
    def failure(self) -> str:
        assert self.ending is not None
        return self.ending.message or f"{self.role} {self.index} on {self.node} ended with status {self.ending.code}."
