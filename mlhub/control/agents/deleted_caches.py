# SPDX-License-Identifier: Apache-2.0
"""What the caches of a machine with an agent are to lose: what was deleted, or was never read there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef

from mlhub.backends.agents.messages import MOST_PROJECTS, DeletedCaches
from mlhub.clusters.models import Agent, CachedInput
from mlhub.core.errors import ConflictError
from mlhub.core.installation import is_restored_lately
from mlhub.jobs.execution.referenced_inputs import inputs_referenced_by
from mlhub.jobs.models import Allocation
from mlhub.tenants.models import Project


def deleted_caches(
    agent: Agent,
    *,
    instance: str,
    projects: Collection[UUID],
    inputs: Mapping[UUID, Collection[str]],
    now: datetime,
) -> DeletedCaches:
    """Notes also whether the machine holds nothing of deleted projects. In the transaction of the caller.

    projects: all that the machine has caches of. inputs: hashes of what it holds of some of them. A project that no job
    of the machine was of is answered as one that is gone, so that a token shows nothing of others. For a while after a
    restore nothing is answered as gone: it may be newer than the backup. Raises ConflictError for an agent that is not
    the one that reports.
    """
    if agent.instance != instance:
        raise ConflictError(
            f"Another agent reports as {agent.name}.",
            code="agent_runs_elsewhere",
            remedy="Make a token for each machine: `mlhub agent token NAME`.",
        )
    if is_restored_lately(now):
        return DeletedCaches(frozenset(), {})
    kept = {project.pk: project for project in _of_machine(agent, projects)}
    gone = frozenset(str(project) for project in projects if project not in kept)
    if not gone and len(projects) < MOST_PROJECTS:
        Agent.objects.filter(pk=agent.pk).update(caches_clean_at=now)
    lost = {}
    asked = {project: sha256s for project, sha256s in inputs.items() if project in kept}
    referenced = inputs_referenced_by([kept[project] for project in asked], asked)
    for project, sha256s in asked.items():
        if left := set(sha256s) - referenced[project]:
            CachedInput.objects.filter(node=agent.name, project=project, sha256__in=left).delete()
            lost[str(project)] = frozenset(left)
    return DeletedCaches(gone, lost)


def _of_machine(agent: Agent, projects: Collection[UUID]) -> list[Project]:
    """Those that exist, and of which a job was or is there."""
    there = Project.objects.filter(pk__in=projects)
    cached = CachedInput.objects.filter(node=agent.name, project=OuterRef("pk"))
    known = list(there.filter(Exists(cached)))
    others = there.exclude(pk__in=[project.pk for project in known])
    held = Allocation.objects.filter(node=agent.name, attempt__job__project=OuterRef("pk"))
    return [*known, *others.filter(Exists(held))]
