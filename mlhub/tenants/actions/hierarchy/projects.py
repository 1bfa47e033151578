# SPDX-License-Identifier: Apache-2.0
"""Writes to organisations, teams and projects that exist: renaming, archiving, moving, deleting empty ones.

Each has its audit event. Organisations are changed by their owners, teams and projects by their admins; who made a
project, and is still a member there, renames it, and deletes it while it is empty.
"""

from __future__ import annotations

from collections import Counter

from django.db import IntegrityError, transaction
from django.db.models import DO_NOTHING, Model
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.tenants.access_control.assignments import TenantNode, allows, made_by, role_assignments
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions.hierarchy.team_places import require_place
from mlhub.tenants.actions.limits.boosted_guarantees import require_room_for_boosts
from mlhub.tenants.actions.limits.quotas import require_room_above, require_types_above
from mlhub.tenants.audit import record
from mlhub.tenants.models import (
    Invitation,
    Membership,
    Organisation,
    Project,
    QuotaBoost,
    QuotaRequest,
    RoleBinding,
    Team,
    User,
    UserQuota,
)
from mlhub.tenants.parts import OPENING_CHECKS, PARTS_OF_CONTENTS, UNLISTED
from mlhub.tenants.roles import Role

# of an organisation, a team or a project: they go with it, as no one can delete them by themselves
OWN_PARTS = (Membership, Invitation, User, UserQuota, QuotaBoost, QuotaRequest, RoleBinding)


def require_open(project: Project) -> None:
    """Raises ConflictError for an archived project, or one of an archived organisation: no uploads and no jobs."""
    # asked anew: a request may have read the rows before they were archived
    if Project.objects.filter(pk=project.pk, archived_at=None, organisation__archived_at=None).exists():
        return
    require_open_organisation(project.organisation)
    raise ConflictError(
        f"{project.name} is archived: it takes no uploads and no jobs.",
        code="project_archived",
        field="project",
        remedy=f"Use another project, or ask an admin of {project.organisation.name} to open it again.",
    )


def require_open_organisation(organisation: Organisation) -> None:
    """Raises ConflictError for an archived organisation, which takes no projects, uploads and jobs."""
    if Organisation.objects.filter(pk=organisation.pk, archived_at=None).exists():
        return
    raise ConflictError(
        f"{organisation.name} is archived: it takes no projects, no uploads and no jobs.",
        code="organisation_archived",
        field="organisation",
        remedy=f"Ask an owner of {organisation.name} to open it again.",
    )


def rename(owner: TenantNode, *, name: str, actor: User) -> None:
    """Raises ConflictError when the name is taken in its place."""
    _require_right(owner, actor, by_maker=True)
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


def set_archived(owner: Project | Organisation, *, is_archived: bool, actor: User) -> None:
    """Jobs that wait or run go on to their end; a paused one stays paused until the owner is opened."""
    _require_right(owner, actor)
    archived_at = timezone.now() if is_archived else None
    with transaction.atomic():
        type(owner)._default_manager.select_for_update().get(pk=owner.pk)  # a deletion that begins now is seen below
        for check in () if is_archived else OPENING_CHECKS:
            check(owner)
        others = type(owner)._default_manager.filter(pk=owner.pk, archived_at__isnull=is_archived)
        if others.update(archived_at=archived_at):
            _record(f"{_kind(owner)}.{'archived' if is_archived else 'opened'}", owner, actor)
            owner.archived_at = archived_at


def move(project: Project, *, team: Team | None, actor: User) -> None:
    """To another team of the organisation, or to none; its limits are those of the new place from the next round on.
    For admins of the project who are admins of the new place.

    Raises InvalidInputError for a team of another organisation, and for one with less room in its guarantee than the
    project's own, or its boosts, need.
    """
    _require_right(project, actor)
    if team is not None and team.organisation_id != project.organisation_id:
        raise InvalidInputError(
            f"The team {team.name} is not of {project.organisation.name}.",
            field="team",
            remedy=f"Name a team of {project.organisation.name}, or none.",
        )
    if project.team_id != (team and team.pk):
        require_role(actor, team or project.organisation, Role.ADMIN)  # its jobs count there from then on
    with transaction.atomic():
        # the lock of the whole tree, as boost_quota() takes it
        organisation = Organisation.objects.select_for_update().get(pk=project.organisation_id)
        held = Project.objects.select_for_update(of=("self",)).select_related("team").get(pk=project.pk)
        before, after = (None if each is None else each.name for each in (held.team, team))
        if held.team_id == (team and team.pk):
            return
        Project.objects.filter(pk=project.pk).update(team=team)
        held.team = team
        _require_room(held, organisation, field="team")
        _record("project.moved", project, actor, before={"team": before}, after={"team": after})
    project.team = team


def move_team(team: Team, *, parent: Team | None, actor: User) -> None:
    """Below another team of the organisation, or directly below it, with its projects and all teams below it.
    For admins of the team who are admins of the new place.

    Raises InvalidInputError for a parent of another organisation, the team itself or one below it, where teams would be
    too deep, and where the guarantee above has no room for the team's own or its boosts.
    """
    _require_right(team, actor)
    with transaction.atomic():
        organisation = Organisation.objects.select_for_update().get(pk=team.organisation_id)  # as move()
        held = Team.objects.select_related("parent", "organisation").get(pk=team.pk)
        before, after = (None if each is None else each.name for each in (held.parent, parent))
        if held.parent_id == (parent and parent.pk):
            return
        require_place(organisation, team=held, parent=parent)
        require_role(actor, parent or organisation, Role.ADMIN)  # its jobs count there from then on
        Team.objects.filter(pk=team.pk).update(parent=parent)
        held.parent = parent
        _require_room(held, organisation, field="parent")
        _record("team.moved", team, actor, before={"parent": before}, after={"parent": after})
    team.parent = parent


def _require_room(moved: Team | Project, organisation: Organisation, *, field: str) -> None:
    quota = getattr(moved, "quota", None)
    remedy = f"Lower the guarantee of {moved.name} before it moves, or have that of the new place raised."
    require_room_above(moved, (quota.guarantee or 0) if quota else 0, field=field, remedy=remedy)
    if quota is not None:
        require_types_above(moved, quota, field=field, remedy=remedy)
    try:
        require_room_for_boosts(organisation, field=field, now=timezone.now())
    except InvalidInputError as error:
        error.remedy = f"End the boosts of {moved.name} before it moves, or have the place raised for as long."
        raise


def delete(owner: TenantNode, *, actor: User) -> None:
    """Only what is empty. Raises ConflictError that counts what it holds."""
    _require_right(owner, actor, by_maker=True)
    with transaction.atomic():
        if isinstance(owner, Team):  # no team is made or moved below it meanwhile
            Organisation.objects.select_for_update().get(pk=owner.organisation_id)
        type(owner)._default_manager.select_for_update().get(pk=owner.pk)
        if held := contents_of(owner):
            words = ", ".join(f"{n} {noun}" for noun, n in held.items())
            raise ConflictError(
                f"{owner.name} holds {words}.",
                code="not_empty",
                remedy="Delete those first, or move them to another team."
                if isinstance(owner, Team)
                else "Delete those first, or archive it and delete it with all its data on the page Members."
                if isinstance(owner, Organisation)
                else f"Delete those first, or archive the {_kind(owner)}.",
                contents=held,
            )
        for model in {relation.related_model for relation in owner._meta.related_objects} & UNLISTED.keys():
            UNLISTED[model].remove(owner)
        type(owner)._default_manager.filter(pk=owner.pk).delete()
        _record(f"{_kind(owner)}.deleted", owner, actor)


def contents_of(owner: TenantNode) -> dict[str, int]:
    """How many rows of each kind belong to it, by the kind's name; to an organisation those of its projects, too.

    Its quota with boosts, requests and limits of users, members, roles and invitations are parts of it, and so is what
    no list shows.
    """
    found = _counts(type(owner), owner, where="")
    if isinstance(owner, Organisation):
        found += _counts(Project, owner, where="__organisation")
    return {
        str(model._meta.verbose_name if n == 1 else model._meta.verbose_name_plural): n for model, n in found.items()
    }


def _counts(node: type[TenantNode], owner: TenantNode, *, where: str) -> Counter[type[Model]]:
    """Rows that belong to nodes of that kind. where: the way from such a node to the owner, in a filter."""
    found: Counter[type[Model]] = Counter()
    for relation in node._meta.related_objects:
        model = relation.related_model
        # what names it and outlives it, such as events, is not in it
        if relation.one_to_one or relation.on_delete is DO_NOTHING or model in {*OWN_PARTS, *PARTS_OF_CONTENTS}:
            continue
        rows = model._default_manager.filter(**{f"{relation.field.name}{where}": owner})
        if (unlisted := UNLISTED.get(model)) is not None:
            rows = rows.exclude(pk__in=unlisted.of(owner).values("pk"))
        if n := rows.count():
            found[model] = n
    return found


def _require_right(owner: TenantNode, actor: User, *, by_maker: bool = False) -> None:
    """Raises NotAllowedError. by_maker: who made the project may, too."""
    if isinstance(owner, Organisation):
        require_role(actor, owner, Role.OWNER)
    elif not (by_maker and made_by(owner, actor) and allows(role_assignments(actor, owner), Role.MEMBER)):
        require_role(actor, owner, Role.ADMIN)


def _kind(owner: TenantNode) -> str:
    return type(owner).__name__.lower()


def _record(kind: str, owner: TenantNode, actor: User, **facts: object) -> None:
    record(
        kind,
        organisation=owner if isinstance(owner, Organisation) else owner.organisation,
        subject_kind=_kind(owner),
        subject_id=owner.pk,
        actor=actor,
        **{"name": owner.name, **facts},
    )
