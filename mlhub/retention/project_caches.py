# SPDX-License-Identifier: Apache-2.0
"""What pods of the local backend prepared of a project's data, such as unpacked archives: it goes with the project.

On Kubernetes it lies on the project's own volume, which goes with its namespace.
"""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.utils import timezone

from mlhub.core.installation import is_restored_lately
from mlhub.tenants.models import Project
from mlhub.wire.trees import remove_tree


def remove_cache(project_id: UUID) -> None:
    remove_tree(settings.PROJECT_CACHE_ROOT / str(project_id))


def sweep_caches() -> int:
    """Removes those of projects that are gone; returns how many.

    For a while after a restore nothing is removed: a project may be newer than the backup.
    """
    if is_restored_lately(timezone.now()):
        return 0
    try:
        names = [path.name for path in settings.PROJECT_CACHE_ROOT.iterdir()]
    except FileNotFoundError:  # no pod ran here
        return 0
    found = {project_id for name in names if (project_id := _project_of(name)) is not None}
    gone = found.difference(Project.objects.filter(pk__in=found).values_list("pk", flat=True))
    for project_id in gone:
        remove_cache(project_id)
    return len(gone)


def _project_of(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:  # not one of ours
        return None
