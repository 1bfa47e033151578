# SPDX-License-Identifier: Apache-2.0
"""Writes to roles in teams and projects: given and withdrawn by the admins there, each with its audit event."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.audit import record
from mlhub.tenants.models import Membership, Organisation, Project, RoleBinding, Team, User
from mlhub.tenants.roles import BINDABLE, Role

SERVICE_ROLES = (Role.MEMBER, Role.SUBMITTER, Role.VIEWER, Role.OUTSIDER)  # of service accounts
MOST_BINDINGS = 500  # of one member in one organisation: all of them are read at each check of a role


def bind_role(place: Team | Project, *, username: str, role: Role, actor: User) -> RoleBinding:
    """Gives a member of the organisation a further role in the place; for its admins.

    Raises NotAllowedError, InvalidInputError for who is no member and for a role that there is not in a place,
    ConflictError when the member has a role there already.
    """
    require_role(actor, place, Role.ADMIN)
    organisation = place.organisation
    with transaction.atomic():
        # the organisation's row is held, so that no membership ends meanwhile
        Organisation.objects.select_for_update().get(pk=organisation.pk)
        membership: Membership | None = (
            Membership.objects.select_related("user")
            .filter(organisation=organisation, user__username=username, user__is_active=True)
            .first()
        )
        if membership is None:
            raise InvalidInputError(
                f"{organisation.name} has no member called {username}.",
                field="username",
                remedy=f"Ask an admin of {organisation.name} to invite the person: as an outsider, who sees there only "
                "what such a role gives.",
            )
        _require_bindable(role, membership.user)
        if membership.role_bindings.count() >= MOST_BINDINGS:
            raise ConflictError(
                f"{username} has {MOST_BINDINGS} roles in teams and projects of {organisation.name}.",
                code="too_many_roles",
                remedy="Give one role in a team instead of one in each of its projects.",
            )
        try:
            with transaction.atomic():
                made = RoleBinding.objects.create(
                    membership=membership, **{_kind(place): place}, role=role, created_by=actor
                )
        except IntegrityError as error:
            raise ConflictError(
                f"{username} has a role in {place.name} already.",
                code="already_bound",
                field="username",
                remedy="Change that role instead.",
            ) from error
        _record("role_binding.created", made, actor, role=str(role))
    return made


def change_binding(binding: RoleBinding, *, role: Role, actor: User) -> RoleBinding:
    """Another role in the same place; for its admins. Raises NotAllowedError, InvalidInputError, ConflictError when it
    was withdrawn meanwhile.
    """
    require_role(actor, binding.place, Role.ADMIN)
    _require_bindable(role, binding.membership.user)
    with transaction.atomic():
        found = _locked(binding)
        before = found.role
        if before != role:
            found.role = role
            found.save(update_fields=["role"])
            _record("role_binding.changed", found, actor, before=before, role=str(role))
    return found


def withdraw_binding(binding: RoleBinding, *, actor: User) -> None:
    """For admins of the place, and for who has the role. Raises NotAllowedError; ConflictError when it is gone."""
    if binding.membership.user_id != actor.pk:
        require_role(actor, binding.place, Role.ADMIN)
    with transaction.atomic():
        found = _locked(binding)
        RoleBinding.objects.filter(pk=found.pk).delete()
        _record("role_binding.removed", found, actor, role=found.role)


def withdraw_all(membership: Membership, *, actor: User) -> None:
    """Before the membership ends, in its transaction."""
    found = membership.role_bindings.select_related("membership__user", "team", "project").order_by("pk")
    for binding in list(found):
        RoleBinding.objects.filter(pk=binding.pk).delete()
        _record("role_binding.removed", binding, actor, role=binding.role)


def _require_bindable(role: Role, user: User) -> None:
    if role not in BINDABLE:
        raise InvalidInputError(
            f"{role} is no role of a team or a project.", field="role", remedy=f"Give one of {', '.join(BINDABLE)}."
        )
    if user.service_of_id is not None and role not in SERVICE_ROLES:
        raise InvalidInputError(
            f"{user.username} is a service account, and those are members, submitters or viewers.",
            field="role",
            remedy="Give it the role member, and let a person do what needs a higher one.",
        )


def _locked(binding: RoleBinding) -> RoleBinding:
    Organisation.objects.select_for_update().get(pk=binding.place.organisation_id)
    found: RoleBinding | None = (
        RoleBinding.objects.select_related("membership__user", "team__organisation", "project__organisation")
        .filter(pk=binding.pk)
        .first()
    )
    if found is None:
        raise ConflictError("This role was withdrawn meanwhile.", code="removed", remedy="There is nothing left to do.")
    return found


def _kind(place: Team | Project) -> str:
    return type(place).__name__.lower()


def _record(kind: str, binding: RoleBinding, actor: User, **facts: str) -> None:
    place, user = binding.place, binding.membership.user
    record(
        kind,
        organisation=place.organisation,
        subject_kind=_kind(place),
        subject_id=place.pk,
        actor=actor,
        username=user.username,
        user_id=user.pk,
        name=place.name,
        **facts,
    )
