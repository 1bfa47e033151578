"""Writes to organisations, their teams and projects, and their quota: each with its audit event."""

from __future__ import annotations

from typing import Final, TypeVar

from django.db import IntegrityError, transaction

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.tenants.audit import record
from mlhub.tenants.models import Organisation, Project, Quota, Team, User
from mlhub.tenants.permissions import require_role
from mlhub.tenants.roles import Role


class _Unchanged:
    """Leave this limit as it is; None would lift it."""


UNCHANGED: Final = _Unchanged()
Limit = int | None | _Unchanged
Named = TypeVar("Named", Organisation, Team, Project)


def create_organisation(name: str, *, actor: User | None) -> Organisation:
    """A new tenant with an empty quota (no limits). Raises ConflictError when the name is taken."""
    with transaction.atomic():
        organisation = _create(Organisation, name, name=name)
        Quota.objects.create(organisation=organisation)
        record(
            "organisation.created",
            organisation=organisation,
            subject_kind="organisation",
            subject_id=organisation.id,
            actor=actor,
            name=name,
        )
    return organisation


def create_team(organisation: Organisation, *, name: str, actor: User) -> Team:
    require_role(actor, organisation, Role.ADMIN)
    with transaction.atomic():
        team = _create(Team, name, organisation=organisation, name=name)
        record(
            "team.created", organisation=organisation, subject_kind="team", subject_id=team.id, actor=actor, name=name
        )
    return team


def create_project(organisation: Organisation, *, name: str, team: Team | None = None, actor: User) -> Project:
    """Raises InvalidInputError when the team is another organisation's, ConflictError when the name is taken."""
    require_role(actor, organisation, Role.MEMBER)
    if team is not None and team.organisation_id != organisation.id:
        raise InvalidInputError(
            f"The team {team.name} is not of {organisation.name}.",
            field="team",
            remedy=f"Name a team of {organisation.name}, or none.",
        )
    with transaction.atomic():
        project = _create(Project, name, organisation=organisation, name=name, team=team)
        record(
            "project.created",
            organisation=organisation,
            subject_kind="project",
            subject_id=project.id,
            actor=actor,
            name=name,
        )
    return project


def set_quota(
    organisation: Organisation,
    *,
    max_gpus: Limit = UNCHANGED,
    max_running_jobs: Limit = UNCHANGED,
    max_storage_bytes: Limit = UNCHANGED,
    version: int | None = None,
    actor: User | None,
) -> Quota:
    """Changes the limits named; None lifts one. A limit below present use ends nothing: it only admits nothing more.

    version: the one that the caller saw; None = whatever it is now.
    Raises ConflictError when somebody changed the quota since, InvalidInputError for a negative limit.
    """
    asked = {"max_gpus": max_gpus, "max_running_jobs": max_running_jobs, "max_storage_bytes": max_storage_bytes}
    changes = {field: limit for field, limit in asked.items() if not isinstance(limit, _Unchanged)}
    for field, limit in changes.items():
        if limit is not None and limit < 0:
            raise InvalidInputError(f"{field} is {limit}.", field=field, remedy="Give 0 or more, or null for no limit.")
    with transaction.atomic():
        Quota.objects.get_or_create(organisation=organisation)
        quota: Quota = Quota.objects.select_for_update().get(organisation=organisation)
        if version is not None and version != quota.version:
            raise ConflictError(
                f"Somebody changed this quota meanwhile: you saw version {version}, it is at {quota.version}.",
                code="stale_version",
                field="version",
                remedy="Read the quota again and repeat your change.",
                version=quota.version,
            )
        before = {field: getattr(quota, field) for field in changes}
        if before == changes:
            return quota
        for field, limit in changes.items():
            setattr(quota, field, limit)
        quota.version += 1
        quota.save()
        record(
            "quota.changed",
            organisation=organisation,
            subject_kind="quota",
            subject_id=organisation.id,
            actor=actor,
            before=before,
            after=changes,
            version=quota.version,
        )
    return quota


def _create(model: type[Named], called: str, **fields: object) -> Named:
    """Inserts a row whose name is unique in its place. Raises ConflictError instead of IntegrityError."""
    try:
        with transaction.atomic():
            return model._default_manager.create(**fields)
    except IntegrityError as error:
        noun = model._meta.verbose_name
        raise ConflictError(
            f"There is already a {noun} called {called}.",
            code="name_taken",
            field="name",
            remedy="Choose another name.",
        ) from error
