# SPDX-License-Identifier: Apache-2.0
"""Deleting a project with all its data: what would go, what forbids it, and the beginning. erasure.py goes on."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import transaction

from mlhub.core.errors import ConflictError
from mlhub.jobs.retention.retention_rules import CHECKPOINTS, organisation_rules
from mlhub.retention.deletion_contents import (
    DeletedContents,
    begin,
    bytes_of,
    counts_of,
    refusals_of,
)
from mlhub.retention.models import ProjectDeletion
from mlhub.retention.organisation_deletions import require_no_deletion, require_typed
from mlhub.retention.stored import stored
from mlhub.tenants import actions
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import Organisation, Project, User
from mlhub.tenants.roles import Role


def contents_of_project(project: Project, *, actor: User) -> DeletedContents:
    """For admins of the project. Raises NotAllowedError."""
    require_role(actor, project, Role.ADMIN)
    deletion = _of(project)
    n_bytes, shared_bytes = bytes_of(deletion)
    return DeletedContents(
        counts=counts_of(deletion),
        n_bytes=n_bytes,
        shared_bytes=shared_bytes,
        refusals=list(_refusals(project)),
        checkpoint_bytes=stored(project, CHECKPOINTS).n_bytes,
    )


def begin_project_deletion(project: Project, *, name: str, actor: User) -> ProjectDeletion:
    """From now on it is archived and cannot be opened again; what it holds is removed in the background.

    name: as typed by who deletes it. Raises InvalidInputError for another name, ConflictError for what forbids it,
    NotAllowedError.
    """
    require_role(actor, project, Role.ADMIN)
    require_typed(name, project)
    with transaction.atomic():
        Organisation.objects.select_for_update().get(pk=project.organisation_id)
        found = Project.objects.select_for_update().select_related("organisation").get(pk=project.pk)
        for refusal in _refusals(found):
            raise refusal
        actions.set_archived(found, is_archived=True, actor=actor)  # nothing new begins in it
        deletion = _of(found)
        begin(deletion, actor=actor)
    return deletion


def _of(project: Project) -> ProjectDeletion:
    return ProjectDeletion(project_id=project.pk, organisation_id=project.organisation_id, name=project.name)


def _refusals(project: Project) -> Iterator[ConflictError]:
    for owner in (project.organisation, project):
        try:
            require_no_deletion(owner)
        except ConflictError as error:
            yield error
    yield from refusals_of(_of(project), organisation_rules(project.organisation))
