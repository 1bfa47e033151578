# SPDX-License-Identifier: Apache-2.0
"""What an agent is to do: the gangs that have pods on its machine, and where checkpoints lie."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from datetime import datetime
from pathlib import Path

from django.conf import settings

from mlhub.backends.agents.messages import CheckpointFolder, GangOrder, Orders, StopOrder, proofs_in
from mlhub.clusters.models import Agent, AgentShare
from mlhub.control.agents.rows import secrets_of
from mlhub.core.installation import installation

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}, {platform.machine()}"


def state_of(agent: Agent) -> str:
    """Changes whenever the agent's orders do. One query."""
    rows = AgentShare.objects.filter(agent=agent).order_by("gang_id")
    listed = rows.values_list("gang_id", "gang__released_at", "gang__stop_deadline", "has_launched")
    return hashlib.sha256(json.dumps([[str(value) for value in row] for row in listed]).encode()).hexdigest()[:16]


def orders_for(agent: Agent, *, now: datetime) -> Orders:
    """All that is to be on its machine. Secrets are those of its own pods that have not launched."""
    state = state_of(agent)
    shares = AgentShare.objects.filter(agent=agent).select_related("gang").order_by("gang__added_at", "gang_id")
    return Orders(
        name=agent.name,
        state=state,
        lost_after_s=settings.AGENT_LOST_S,
        public_url=settings.PUBLIC_URL,
        checkpoints=checkpoint_folder(),
        gangs=tuple(_order(share, now=now) for share in shares),
    )


def checkpoint_folder() -> CheckpointFolder:
    """The folder that all machines share, with the file by which an agent knows it."""
    known = str(installation().uuid)
    folder = CheckpointFolder(str(settings.CHECKPOINT_ROOT), f".mlhub-{known[-12:]}", known)
    marker = Path(folder.path) / folder.marker
    if not marker.exists():
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.write_text(known)
    proofs_in(folder).mkdir(exist_ok=True)  # as the folder of a job is made: agents try whether they may write there
    return folder


def _order(share: AgentShare, *, now: datetime) -> GangOrder:
    gang = share.gang
    stop = None
    if gang.stop_deadline is not None:
        stop = StopOrder(max(0.0, (gang.stop_deadline - now).total_seconds()), gang.stop["why"])
    if share.has_launched:
        return GangOrder(gang.attempt_id, stop=stop)
    if gang.released_at is None:
        return GangOrder(gang.attempt_id, spec=gang.spec, stop=stop)
    return GangOrder(gang.attempt_id, gang.spec, gang.addresses, secrets_of(gang), stop)
