# SPDX-License-Identifier: Apache-2.0
"""What the backend of agents needs of whatever keeps agents, gangs and reports: rows of PostgreSQL, in control."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from mlhub.backends.agents.messages import PodReport
from mlhub.backends.protocol import NodeStatus
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, LaunchSpec


@dataclass(frozen=True)
class KnownAgent:
    """One agent as it reported last. problem: why no pod may start on its machine; "" = none."""

    name: str
    address: str
    seen_at: datetime
    node: NodeStatus
    problem: str = ""


@dataclass(frozen=True)
class KnownShare:
    """The pods of a gang on one machine. problem: why they cannot start there; is_final: nor later."""

    node: str
    ports: tuple[int, ...] = ()
    problem: str = ""
    cause: Cause | None = None
    is_final: bool = False
    pods: tuple[PodReport, ...] = ()


@dataclass(frozen=True)
class KnownStop:
    why: str
    cause: Cause | None
    message: str
    deadline: datetime


@dataclass(frozen=True)
class KnownGang:
    """released_at: since when its agents know all its addresses, and start it."""

    spec: LaunchSpec
    added_at: datetime
    released_at: datetime | None
    stop: KnownStop | None
    shares: tuple[KnownShare, ...]


class AgentStore(Protocol):
    """Each call is a transaction of its own, and wakes the agents that it concerns."""

    def agents(self) -> Sequence[KnownAgent]:
        """Every agent that has reported."""

    def gangs(self, attempt_ids: Collection[AttemptId] | None = None) -> Sequence[KnownGang]:
        """Those gangs, or all."""

    def add(self, specs: Sequence[LaunchSpec]) -> None:
        """Gangs that their agents are to reserve for. Those that are there stay as they are."""

    def release(self, attempt_id: AttemptId, addresses: Mapping[str, Any]) -> None:
        """Lets the agents start the gang. Nothing changes if it is released or gone."""

    def ask_to_stop(self, attempt_id: AttemptId, stop: KnownStop) -> None:
        """A later call brings the deadline nearer at most."""

    def remove(self, attempt_id: AttemptId) -> None:
        """Its agents end what is left of it."""
