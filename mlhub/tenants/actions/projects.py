# SPDX-License-Identifier: Apache-2.0
"""Writes to projects and teams that exist: renaming, archiving, deleting empty ones; each with its audit event."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from mlhub.core.errors import ConflictError
from mlhub.tenants.audit import record
from mlhub.tenants.models import Project, Team, User
from mlhub.tenants.permissions import require_role
from mlhub.tenants.roles import Role


def require_open(project: Project) -> None:
    """Raises ConflictError for an archived project, which takes neither uploads nor jobs."""
    # asked anew: a request may have read the row before it was archived
    if Project.objects.filter(pk=project.pk, archived_at=None).exists():
        return
    raise ConflictError(
        f"{project.name} is archived: it takes no uploads and no jobs.",
        code="project_archived",
        field="project",
        remedy=f"Use another project, or ask an admin of {project.organisation.name} to open it again.",
    )


def rename(owner: Project | Team, *, name: str, actor: User) -> None:
    """For admins. Raises ConflictError when the name is taken in the organisation."""
    require_role(actor, owner.organisation, Role.ADMIN)
    kind, before = _kind(owner), owner.name
    if name == before:
        return
    with transaction.atomic():
        try:
            with transaction.atomic():
                type(owner)._default_manager.filter(pk=owner.pk).update(name=name)
        except IntegrityError as error:
            raise ConflictError(
                f"There is already a {kind} called {name}.",
                code="name_taken",
                field="name",
                remedy="Choose another name.",
            ) from error
        _record(f"{kind}.renamed", owner, actor, before={"name": before}, after={"name": name})
    owner.name = name


def set_archived(project: Project, *, is_archived: bool, actor: User) -> None:
    """For admins. Jobs that wait or run go on to their end; a paused one stays paused until the project is opened."""
    require_role(actor, project.organisation, Role.ADMIN)
    archived_at = timezone.now() if is_archived else None
    with transaction.atomic():
        others = Project.objects.filter(pk=project.pk, archived_at__isnull=is_archived)
        if others.update(archived_at=archived_at):
            _record(f"project.{'archived' if is_archived else 'opened'}", project, actor)
            project.archived_at = archived_at


def delete(owner: Project | Team, *, actor: User) -> None:
    """For admins, and only what is empty. Raises ConflictError that counts what it holds."""
    require_role(actor, owner.organisation, Role.ADMIN)
    with transaction.atomic():
        type(owner)._default_manager.select_for_update().get(pk=owner.pk)
        if held := contents_of(owner):
            words = ", ".join(f"{n} {noun}" for noun, n in held.items())
            raise ConflictError(
                f"{owner.name} holds {words}.",
                code="not_empty",
                remedy="Delete those first, or archive the project."
                if isinstance(owner, Project)
                else "Delete those first.",
                contents=held,
            )
        type(owner)._default_manager.filter(pk=owner.pk).delete()
        _record(f"{_kind(owner)}.deleted", owner, actor)


def contents_of(owner: Project | Team) -> dict[str, int]:
    """How many rows of each kind belong to it, by the kind's name; its quota is a part of itself."""
    found: dict[str, int] = {}
    for relation in owner._meta.related_objects:
        if relation.one_to_one:
            continue
        rows = relation.related_model._default_manager.filter(**{relation.field.name: owner})
        if n := rows.count():
            options = relation.related_model._meta
            found[str(options.verbose_name if n == 1 else options.verbose_name_plural)] = n
    return found


def _kind(owner: Project | Team) -> str:
    return type(owner).__name__.lower()


def _record(kind: str, owner: Project | Team, actor: User, **facts: object) -> None:
    record(
        kind,
        organisation=owner.organisation,
        subject_kind=_kind(owner),
        subject_id=owner.pk,
        actor=actor,
        **{"name": owner.name, **facts},
    )
