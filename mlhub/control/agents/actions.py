# SPDX-License-Identifier: Apache-2.0
"""Writes to agents: who may bring a machine into the cluster, and what one reports."""

from __future__ import annotations

import platform
import re
import secrets
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from mlhub._version import __version__
from mlhub.backends.agents.messages import PROTOCOL, TOKEN_PREFIX, AgentReport, GangReport
from mlhub.clusters.models import Agent, AgentGang, AgentShare
from mlhub.control.agents.orders import PYTHON
from mlhub.control.agents.rows import topic_of
from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError
from mlhub.events.actions import append
from mlhub.events.wakeups import EVENTS, wake_on_commit
from mlhub.tenants.models import User
from mlhub.tenants.sign_in.authentication import hash_token

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
WORKSTATION = "workstation"
OWN_TOKEN = "agent.token"


def make_token(name: str, *, actor: User | None, is_own: bool = False, must_be_new: bool = False) -> tuple[Agent, str]:
    """Returns the agent, made where it is new, and its only token. An earlier token of its is refused from now on.

    Raises InvalidInputError, and ConflictError for the platform's own agent and where another one must be new.
    """
    if settings.BACKEND != "agents":
        raise InvalidInputError(
            f"This platform runs jobs by the backend {settings.BACKEND}, which has no agents.",
            field="name",
            remedy="Start it with MLHUB_BACKEND=agents.",
        )
    if not NAME.fullmatch(name):
        remedy = "Give letters, digits and . _ - between them, 63 at most, such as the machine's host name."
        raise InvalidInputError(f"{name!r} is no name of a node.", field="name", remedy=remedy)
    token = f"{TOKEN_PREFIX}{name}_{secrets.token_hex(32)}"
    with transaction.atomic():
        agent, is_new = Agent.objects.select_for_update().get_or_create(
            name=name,
            defaults={
                "token_hash": hash_token(token), "token_made_at": timezone.now(), "made_by": actor, "is_own": is_own
            },
        )  # fmt: skip
        if not is_new:
            if agent.is_own and not is_own:
                raise _own_agent(name, remedy="Choose another name.")
            if must_be_new:
                raise ConflictError(
                    f"There is an agent {name} already.",
                    code="agent_exists",
                    remedy="Choose another name, or make a new token for that machine.",
                )
            agent.token_hash, agent.token_made_at, agent.made_by = hash_token(token), timezone.now(), actor
            agent.is_own, agent.instance = is_own, ""
            agent.save(update_fields=["token_hash", "token_made_at", "made_by", "is_own", "instance"])
            wake_on_commit(topic_of(agent))
        _record("agent.added" if is_new else "agent.token_replaced", agent, actor)
    return agent, token


def remove_agent(name: str, *, actor: User | None) -> None:
    """Its token is refused from now on, its node is gone, and what ran there counts as lost. Raises NotFoundError."""
    with transaction.atomic():
        agent = Agent.objects.select_for_update().filter(name=name).first()
        if agent is None:
            raise NotFoundError(f"There is no agent {name}.")
        if agent.is_own:
            raise _own_agent(name, remedy=f"Close it to jobs instead: `mlhub node cordon {name}`.")
        _record("agent.removed", agent, actor)
        wake_on_commit(topic_of(agent), EVENTS)
        agent.delete()


def _own_agent(name: str, *, remedy: str) -> ConflictError:
    return ConflictError(
        f"{name} is the platform's own machine, whose agent the platform starts.", code="own_agent", remedy=remedy
    )


def ensure_own_agent() -> Path:
    """Makes the agent of the platform's own machine, with its token in a file that only the platform reads."""
    file = Path(settings.MLHUB_HOME) / OWN_TOKEN
    known = Agent.objects.filter(is_own=True).first()
    if known is not None and file.exists() and hash_token(file.read_text()) == known.token_hash:
        return file
    name = known.name if known is not None else _name_of_this_machine()
    _, token = make_token(name, actor=None, is_own=True)
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text(token)
    return file


def _name_of_this_machine() -> str:
    """Its host name. Raises nothing: one that is no name of a node is called so."""
    name = platform.node().partition(".")[0]
    return name if NAME.fullmatch(name) else WORKSTATION


def agent_of(token: str) -> Agent | None:
    """The agent that a token belongs to; None for a wrong or revoked one."""
    if not token.startswith(TOKEN_PREFIX):
        return None
    found: Agent | None = Agent.objects.filter(token_hash=hash_token(token)).first()
    return found


def store_report(agent: Agent, report: AgentReport, *, came_from: str, now: datetime) -> None:
    """Keeps what an agent reported, in the transaction of the caller. Reports on gangs that it has no share of are
    passed over.

    Raises ConflictError for an agent whose protocol is another one, and for a second agent with the token of one that
    reports: both would start the same pods. Raises NotFoundError when the token was replaced meanwhile.
    """
    if report.protocol != PROTOCOL:
        raise ConflictError(
            f"The agent of {agent.name} is MLHub {report.version}, the platform {__version__}.",
            code="agent_version",
            remedy=f"Install MLHub {__version__} there: pip install '.[agent]' in its checkout.",
        )
    known = Agent.objects.select_for_update().filter(pk=agent.pk, token_hash=agent.token_hash).first()
    if known is None:
        raise NotFoundError(f"The token of {agent.name} was replaced, or the agent removed.")
    agent = known
    if agent.instance not in ("", report.instance) and not _is_lost(agent, now=now):
        raise ConflictError(
            f"An agent at {agent.address} reports as {agent.name} already.",
            code="agent_runs_elsewhere",
            remedy="Make a token for each machine: `mlhub agent token NAME`. If this machine is to take its place, end "
            f"the other agent: {settings.AGENT_LOST_S:.0f} s later this one is accepted.",
        )
    agent.seen_at, agent.version, agent.instance = now, report.version, report.instance
    agent.address = report.address or came_from
    agent.problem = _versions_problem(report) or report.problem
    before, agent.report = agent.report, asdict(report.node)
    agent.save(update_fields=["seen_at", "version", "instance", "address", "problem", "report"])
    offset_s = now.timestamp() - report.now  # its clock may be wrong
    shares = {share.gang_id: share for share in AgentShare.objects.filter(agent=agent).select_for_update(of=("self",))}
    has_news = not before
    for gang in report.gangs:
        if (share := shares.get(gang.attempt_id)) is not None:
            has_news |= _keep(share, gang, offset_s=offset_s)
    if has_news:
        wake_on_commit(EVENTS)  # the control loop looks at once


def _is_lost(agent: Agent, *, now: datetime) -> bool:
    return agent.seen_at is None or (now - agent.seen_at).total_seconds() > settings.AGENT_LOST_S


def _keep(share: AgentShare, gang: GangReport, *, offset_s: float) -> bool:
    """Whether there is something new. How a pod ended is never taken back."""
    before = (share.ports, share.has_launched, share.problem, share.pods)
    known = {(pod["role"], pod["index"]): pod for pod in share.pods if pod["end"] is not None}
    pods = []
    for pod in gang.pods:
        raw = known.get((pod.role, pod.index)) or asdict(pod)
        if raw["end"] is not None and (pod.role, pod.index) not in known:
            raw["end"]["at"] += offset_s
        pods.append(raw)
    share.ports = share.ports or list(gang.ports)  # those that the gang may know already
    share.has_launched |= gang.has_launched
    if not share.problem:
        share.problem, share.cause, share.is_final = gang.problem, gang.cause, gang.is_final
    share.pods = pods
    if (share.ports, share.has_launched, share.problem, share.pods) == before:
        return False
    share.save()
    if share.has_launched and not before[1]:
        _drop_secrets(share.gang_id)
    return True


def _drop_secrets(attempt_id: str) -> None:
    """Once every pod has launched. Of two agents that report it at the same time, the later one sees the other's."""
    gang = AgentGang.objects.select_for_update().only("pk").filter(pk=attempt_id).first()
    if gang is not None and not gang.shares.filter(has_launched=False).exists():
        AgentGang.objects.filter(pk=attempt_id).update(secrets=b"")


def _versions_problem(report: AgentReport) -> str:
    """Why a machine with other versions gets no pods; those that run there go on."""
    if report.version != __version__:
        return (
            f"Its agent is MLHub {report.version}, the platform {__version__}. Install the platform's version there, "
            "pip install '.[agent]' in its checkout, and start the agent again."
        )
    if report.python != PYTHON:
        return (
            f"Its agent runs with Python {report.python}, the platform with {PYTHON}: packages that jobs require would "
            f"not fit. Install the agent in an environment of Python {PYTHON}."
        )
    return ""


def _record(kind: str, agent: Agent, actor: User | None) -> None:
    append(kind, organisation=None, subject_kind="agent", subject_id=agent.pk, actor=actor, name=agent.name)
