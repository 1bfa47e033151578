# SPDX-License-Identifier: Apache-2.0
"""How an agent is, for people: from its row and the time. Pure."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from mlhub.backends.agents.messages import silent_after_s

if TYPE_CHECKING:
    from mlhub.clusters.models import Agent


class AgentState(StrEnum):
    """EXPECTED: no agent has reported with its present token. CLOSED: it reports, and no job may start there."""

    EXPECTED = "expected"
    CONNECTED = "connected"
    CLOSED = "closed"
    SILENT = "silent"
    LOST = "lost"


def agent_state(agent: Agent, *, now: datetime, lost_after_s: float) -> AgentState:
    if agent.seen_at is None or agent.seen_at < agent.token_made_at:
        return AgentState.EXPECTED
    silent_s = (now - agent.seen_at).total_seconds()
    if silent_s > lost_after_s:
        return AgentState.LOST
    if silent_s > silent_after_s(lost_after_s):
        return AgentState.SILENT
    return AgentState.CLOSED if agent.problem else AgentState.CONNECTED
