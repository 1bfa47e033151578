# SPDX-License-Identifier: Apache-2.0
"""What pods of the local backend prepared of a project's data, such as unpacked archives: it goes with the project, and
with the data.

Machines with agents ask what of theirs is to go (mlhub/control/agents/deleted_caches.py). On Kubernetes it lies on the
project's own volume, which goes with its namespace.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from mlhub.clusters.models import Agent
from mlhub.core.installation import is_restored_lately
from mlhub.jobs.execution.referenced_inputs import referenced_inputs
from mlhub.runtime.data.node_cache import hashes_in, remove_unused
from mlhub.tenants.models import Project
from mlhub.wire.trees import remove_tree


def remove_cache(project_id: UUID) -> None:
    remove_tree(settings.PROJECT_CACHE_ROOT / str(project_id))


def sweep_caches() -> int:
    """Removes those of projects that are gone, and of the others what was made of data that is; returns how many lost
    something. What pods use stays until a later sweep.

    For a while after a restore nothing is removed: a project may be newer than the backup.
    """
    if is_restored_lately(timezone.now()):
        return 0
    try:
        names = [path.name for path in settings.PROJECT_CACHE_ROOT.iterdir()]
    except FileNotFoundError:  # no pod ran here
        return 0
    found = {project_id for name in names if (project_id := _project_of(name)) is not None}
    there = Project.objects.in_bulk(found)
    gone = found.difference(there)
    for project_id in gone:
        remove_cache(project_id)
    return len(gone) + sum(_remove_deleted(project) for project in there.values())


def machines_left(ended_at: datetime | None) -> list[str]:
    """The machines with agents that did not say since then that they hold nothing of deleted projects, by name. None:
    the deletion goes on, so none did."""
    agents = Agent.objects.order_by("name")
    if ended_at is not None:
        agents = agents.filter(Q(caches_clean_at=None) | Q(caches_clean_at__lt=ended_at))
    return list(agents.values_list("name", flat=True))


def _remove_deleted(project: Project) -> bool:
    folder = settings.PROJECT_CACHE_ROOT / str(project.pk)
    held = hashes_in(folder)
    left = held - referenced_inputs(project, held) if held else held
    return bool(left) and remove_unused(folder, left) > 0


def _project_of(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:  # not one of ours
        return None
