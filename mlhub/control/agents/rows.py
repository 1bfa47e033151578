# SPDX-License-Identifier: Apache-2.0
"""The store of the backend of agents: rows of PostgreSQL. Secrets of pods are encrypted, and gone once those run."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cryptography.fernet import InvalidToken
from django.db import transaction
from django.utils import timezone

from mlhub.backends.agents.messages import node_from_json, pod_from_json
from mlhub.backends.agents.store import KnownAgent, KnownGang, KnownShare, KnownStop
from mlhub.clusters.models import Agent, AgentGang, AgentShare
from mlhub.core.security.encryption import cipher
from mlhub.events.wakeups import wake_on_commit
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, LaunchSpec

PURPOSE = "mlhub secrets of pods of agents"  # part of the key


class AgentRows:
    """Implements AgentStore."""

    def agents(self) -> Sequence[KnownAgent]:
        found = Agent.objects.exclude(seen_at=None).order_by("name")
        return [
            KnownAgent(agent.name, agent.address, agent.seen_at, node_from_json(agent.report), agent.problem)
            for agent in found
            if agent.seen_at is not None
        ]

    def gangs(self, attempt_ids: Collection[AttemptId] | None = None) -> Sequence[KnownGang]:
        rows = AgentGang.objects.defer("secrets").prefetch_related("shares__agent").order_by("added_at", "attempt_id")
        if attempt_ids is not None:
            rows = rows.filter(pk__in=attempt_ids)
        return [_known(row) for row in rows]

    @transaction.atomic
    def add(self, specs: Sequence[LaunchSpec]) -> None:
        agents = {agent.name: agent for agent in Agent.objects.all()} if specs else {}
        for spec in specs:
            secrets = {"token": spec.token, "gang_secret": spec.gang_secret, "secrets": spec.secrets}
            gang, is_new = AgentGang.objects.get_or_create(
                pk=spec.attempt_id,
                defaults={
                    "spec": spec.without_secrets().to_json(),
                    "secrets": cipher(PURPOSE).encrypt(json.dumps(secrets).encode()),
                    "added_at": timezone.now(),
                },
            )
            if is_new:
                nodes = sorted({pod.node for pod in spec.pods})
                AgentShare.objects.bulk_create([AgentShare(gang=gang, agent=agents[node]) for node in nodes])
                wake_on_commit(*(topic_of(agents[node]) for node in nodes))

    @transaction.atomic
    def release(self, attempt_id: AttemptId, addresses: Mapping[str, Any]) -> None:
        AgentGang.objects.filter(pk=attempt_id, released_at=None).update(
            addresses=dict(addresses), released_at=timezone.now()
        )
        _wake_agents_of(attempt_id)

    @transaction.atomic
    def ask_to_stop(self, attempt_id: AttemptId, stop: KnownStop) -> None:
        gang = AgentGang.objects.select_for_update().defer("secrets").filter(pk=attempt_id).first()
        if gang is None or (gang.stop_deadline is not None and gang.stop_deadline <= stop.deadline):
            return
        gang.stop_deadline = stop.deadline
        gang.stop = gang.stop or {"why": stop.why, "cause": stop.cause or "", "message": stop.message}
        gang.save(update_fields=["stop_deadline", "stop"])
        _wake_agents_of(attempt_id)

    @transaction.atomic
    def remove(self, attempt_id: AttemptId) -> None:
        _wake_agents_of(attempt_id)
        AgentGang.objects.filter(pk=attempt_id).delete()


def topic_of(agent: Agent) -> str:
    """Its orders have changed."""
    return f"agent:{agent.pk}"


def secrets_of(gang: AgentGang) -> dict[str, Any]:
    """What its pods are given besides their specification. Empty when no key decrypts it: they fail, and are repeated
    with secrets of the present key."""
    try:
        found: dict[str, Any] = json.loads(cipher(PURPOSE).decrypt(bytes(gang.secrets)))
    except InvalidToken:
        return {"token": "", "gang_secret": "", "secrets": {}}
    return found


def with_secrets(spec: LaunchSpec, secrets: Mapping[str, Any]) -> LaunchSpec:
    return replace(spec, token=secrets["token"], gang_secret=secrets["gang_secret"], secrets=secrets["secrets"])


def _wake_agents_of(attempt_id: AttemptId) -> None:
    agents = Agent.objects.filter(shares__gang=attempt_id).only("id")
    wake_on_commit(*(topic_of(agent) for agent in agents))


def _known(row: AgentGang) -> KnownGang:
    stop = None
    if row.stop_deadline is not None:
        cause = Cause(row.stop["cause"]) if row.stop["cause"] else None
        stop = KnownStop(row.stop["why"], cause, row.stop["message"], row.stop_deadline)
    return KnownGang(
        LaunchSpec.from_json(row.spec), row.added_at, row.released_at, stop, tuple(map(_share, row.shares.all()))
    )


def _share(row: AgentShare) -> KnownShare:
    return KnownShare(
        node=row.agent.name,
        ports=tuple(row.ports),
        problem=row.problem,
        cause=Cause(row.cause) if row.cause else None,
        is_final=row.is_final,
        pods=tuple(pod_from_json(pod) for pod in row.pods),
    )
