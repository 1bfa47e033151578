# SPDX-License-Identifier: Apache-2.0
"""Deleting an organisation with all its data: what would go, what forbids it, and the beginning. erasure.py goes on."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import transaction
from django.db.models import Model as Table

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.jobs.retention.retention_rules import organisation_rules
from mlhub.retention.deletion_contents import (
    DeletedContents,
    begin,
    bytes_of,
    counts_of,
    refusals_of,
)
from mlhub.retention.models import OrganisationDeletion, ProjectDeletion
from mlhub.retention.querysets import OrganisationDeletionQuerySet
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import Organisation, Project, User
from mlhub.tenants.roles import Role


def contents_to_delete(organisation: Organisation, *, actor: User) -> DeletedContents:
    """For owners and administrators of the platform. Raises NotAllowedError."""
    require_role(actor, organisation, Role.OWNER)
    deletion = _of(organisation)
    n_bytes, shared_bytes = bytes_of(deletion)
    return DeletedContents(
        counts=counts_of(deletion),
        n_bytes=n_bytes,
        shared_bytes=shared_bytes,
        refusals=list(_refusals(organisation)),
    )


def begin_deletion(organisation: Organisation, *, name: str, actor: User) -> OrganisationDeletion:
    """From now on it cannot be opened again; what it holds is removed in the background.

    name: as typed by who deletes it. Raises InvalidInputError for another name, ConflictError for what forbids it,
    NotAllowedError.
    """
    require_role(actor, organisation, Role.OWNER)
    require_typed(name, organisation)
    with transaction.atomic():
        found = Organisation.objects.select_for_update().get(pk=organisation.pk)
        for refusal in _refusals(found):
            raise refusal
        deletion = _of(found)
        begin(deletion, actor=actor)
    return deletion


def require_typed(name: str, owner: Organisation | Project) -> None:
    """Raises InvalidInputError for another name than the owner's, typed to confirm."""
    if name != owner.name:
        kind = "organisation" if isinstance(owner, Organisation) else "project"
        raise InvalidInputError(
            f"This is not the {kind}'s name.", field="name", remedy=f"Type {owner.name} to confirm."
        )


def require_no_deletion(owner: Table) -> None:
    """Raises ConflictError while the organisation, or the project, is being deleted."""
    is_project = isinstance(owner, Project)
    rows = ProjectDeletion.objects.filter(project_id=owner.pk) if is_project else _deletions_of(owner)
    if rows.running().exists():
        raise ConflictError(
            f"{owner.name if isinstance(owner, Project) else owner} is being deleted.",
            code="deletion_under_way",
            remedy=f"Make another {'project' if is_project else 'organisation'}.",
        )


def _deletions_of(organisation: Table) -> OrganisationDeletionQuerySet:
    found: OrganisationDeletionQuerySet = OrganisationDeletion.objects.filter(organisation_id=organisation.pk)
    return found


def _of(organisation: Organisation) -> OrganisationDeletion:
    return OrganisationDeletion(organisation_id=organisation.pk, name=organisation.name)


def _refusals(organisation: Organisation) -> Iterator[ConflictError]:
    try:
        require_no_deletion(organisation)
    except ConflictError as error:
        yield error
    if organisation.archived_at is None:
        yield ConflictError(
            f"{organisation.name} is open.",
            code="organisation_open",
            remedy="Archive it first: then nothing new begins in it.",
        )
    yield from refusals_of(_of(organisation), organisation_rules(organisation))
