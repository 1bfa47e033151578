# SPDX-License-Identifier: Apache-2.0
"""Memberships that follow from a person's groups at the provider: given, changed and taken away at each sign-in.

Memberships that were made here stay as they are: the provider neither raises nor removes them. The provider alone
decides on its own ones, also on that of a last owner; administrators of the platform can always make another owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import structlog

from mlhub.tenants.actions.membership.role_bindings import withdraw_all
from mlhub.tenants.audit import record
from mlhub.tenants.models import Membership, Organisation, SignInMethod, User
from mlhub.tenants.roles import Role

logger = structlog.stdlib.get_logger(__name__)


def roles_of_groups(groups: Iterable[str], roles: Mapping[str, Mapping[str, Role]]) -> dict[str, Role]:
    """The role in each organisation, by its name: the highest that one of the groups gives."""
    found: dict[str, Role] = {}
    for group in groups:
        for name, role in roles.get(group, {}).items():
            if name not in found or role.rank > found[name].rank:
                found[name] = role
    return found


def locked_organisations(user: User | None, roles: Mapping[str, Role]) -> dict[str, Organisation]:
    """The organisations of the roles, by name, locked with those that the user may lose: before any event is written.

    Names that no organisation has are left out and logged: an administrator made a mistake, not the person.
    """
    touched = Organisation.objects.filter(name__in=roles)
    if user is not None:
        touched |= Organisation.objects.filter(pk__in=user.memberships.filter(from_groups=True).values("organisation"))
    rows = list(Organisation.objects.filter(pk__in=touched.values("pk")).select_for_update().order_by("pk"))
    found = {row.name: row for row in rows if row.name in roles}
    if missing := sorted(roles.keys() - found.keys()):
        logger.warning("single_sign_on.unknown_organisations", names=missing)
    return found


def apply_roles(user: User, roles: Mapping[str, Role], organisations: Mapping[str, Organisation]) -> None:
    """The caller holds the organisations' rows."""
    held = {row.organisation_id: row for row in user.memberships.select_related("organisation")}
    for name, organisation in organisations.items():
        _give(user, organisation, roles[name], held.get(organisation.pk))
    wanted = {organisation.pk for organisation in organisations.values()}
    take_away(row for row in held.values() if row.organisation_id not in wanted)


def take_away(memberships: Iterable[Membership]) -> None:
    """Removes those that came from groups."""
    for membership in memberships:
        if membership.from_groups:
            withdraw_all(membership, actor=membership.user)
            Membership.objects.filter(pk=membership.pk).delete()
            _record("membership.removed", membership, role=membership.role)


def _give(user: User, organisation: Organisation, role: Role, held: Membership | None) -> None:
    if held is None:
        made = Membership.objects.create(user=user, organisation=organisation, role=role, from_groups=True)
        _record("membership.created", made, role=str(role))
    elif held.from_groups and held.role != role:
        before, held.role = held.role, role
        held.save(update_fields=["role"])
        _record("membership.changed", held, before=before, role=str(role))


def _record(kind: str, membership: Membership, **facts: str) -> None:
    """The actor is the person whose sign-in brought the groups."""
    user = membership.user
    record(
        kind,
        organisation=membership.organisation,
        subject_kind="membership",
        subject_id=membership.pk,
        actor=user,
        username=user.username,
        user_id=user.pk,
        source=str(SignInMethod.SINGLE_SIGN_ON),
        **facts,
    )
