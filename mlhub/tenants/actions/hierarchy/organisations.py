# SPDX-License-Identifier: Apache-2.0
"""Writes to organisations, their teams and projects: each with its audit event."""

from __future__ import annotations

from typing import TypeVar

from django.db import IntegrityError, transaction

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions.hierarchy.projects import require_open_organisation
from mlhub.tenants.actions.hierarchy.team_places import require_place
from mlhub.tenants.audit import record
from mlhub.tenants.models import Organisation, Project, Quota, Team, User
from mlhub.tenants.roles import Role

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


def create_team(organisation: Organisation, *, name: str, parent: Team | None = None, actor: User) -> Team:
    """parent: the team that it is a part of; None = directly below the organisation.

    Raises InvalidInputError for a parent of another organisation or one that is too deep, ConflictError when the name
    is taken in the organisation.
    """
    require_role(actor, organisation, Role.ADMIN)
    with transaction.atomic():
        if parent is not None:
            # the lock of the whole tree, as move_team() takes it
            Organisation.objects.select_for_update().get(pk=organisation.pk)
            require_place(organisation, team=None, parent=parent)
        team = _create(Team, name, organisation=organisation, name=name, parent=parent)
        record(
            "team.created",
            organisation=organisation,
            subject_kind="team",
            subject_id=team.id,
            actor=actor,
            name=name,
            **({"parent": parent.name} if parent is not None else {}),
        )
    return team


def create_project(organisation: Organisation, *, name: str, team: Team | None = None, actor: User) -> Project:
    """Raises InvalidInputError when the team is another organisation's, ConflictError when the name is taken."""
    require_role(actor, team or organisation, Role.MEMBER)
    require_open_organisation(organisation)
    if team is not None and team.organisation_id != organisation.id:
        raise InvalidInputError(
            f"The team {team.name} is not of {organisation.name}.",
            field="team",
            remedy=f"Name a team of {organisation.name}, or none.",
        )
    with transaction.atomic():
        project = _create(Project, name, organisation=organisation, name=name, team=team, created_by=actor)
        record(
            "project.created",
            organisation=organisation,
            subject_kind="project",
            subject_id=project.id,
            actor=actor,
            name=name,
        )
    return project


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
