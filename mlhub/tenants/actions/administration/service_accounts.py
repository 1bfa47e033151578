# SPDX-License-Identifier: Apache-2.0
"""Service accounts: an organisation's accounts for programs, without a password, managed by its admins.

Their tokens reach the organisation, or one project of it, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions.administration.users import change_user, delete_user
from mlhub.tenants.actions.membership.members import SERVICE_ROLES, change_role
from mlhub.tenants.actions.sign_in.accounts import SERVICE_SUFFIX
from mlhub.tenants.actions.sign_in.credentials import create_token
from mlhub.tenants.audit import record
from mlhub.tenants.models import ApiToken, Membership, Organisation, Project, User
from mlhub.tenants.roles import Role

MAX_NAME, MAX_SLUG = 50, 60  # characters; the user name has at most 150


def create_service_account(organisation: Organisation, *, name: str, role: Role, actor: User) -> User:
    """The account `name@organisation.service`. Raises ConflictError when the organisation has it already."""
    require_role(actor, organisation, Role.ADMIN)
    _require_service_role(role)
    with transaction.atomic():
        user = _insert(organisation, name)
        Membership.objects.create(user=user, organisation=organisation, role=role)
        facts = {"username": user.username, "user_id": user.pk, "role": str(role)}
        record("user.created", organisation=organisation, subject_kind="user", subject_id=user.pk, actor=actor, **facts)
    return user


def change_service_account(account: User, *, role: Role | None, is_active: bool | None, actor: User) -> None:
    """None leaves a thing as it is. A deactivated account's tokens are refused at once; its jobs go on."""
    organisation = organisation_of(account)
    require_role(actor, organisation, Role.ADMIN)
    with transaction.atomic():
        if role is not None:
            change_role(account.memberships.get(organisation=organisation), role=role, actor=actor)
        if is_active is not None:
            change_user(account, actor=actor, is_active=is_active)


def delete_service_account(account: User, *, heir: User | None, actor: User) -> None:
    """For good, as delete_user: what it made passes to the heir. Raises ConflictError when an heir is needed."""
    require_role(actor, organisation_of(account), Role.ADMIN)
    delete_user(account, heir=heir, actor=actor)


def create_service_token(
    account: User, *, name: str, scopes: Sequence[str], expires_in_days: int, project: Project | None, actor: User
) -> tuple[ApiToken, str]:
    """A token limited to the organisation or to a project of it, and its secret, which is not stored.

    Raises InvalidInputError for the scope admin and for a project of another organisation.
    """
    organisation = organisation_of(account)
    require_role(actor, organisation, Role.ADMIN)
    if project is not None and project.organisation_id != organisation.pk:
        raise InvalidInputError(
            f"The project {project.name} is not of {organisation.name}.",
            field="project",
            remedy=f"Name a project of {organisation.name}, or none.",
        )
    return create_token(
        account,
        name=name,
        scopes=scopes,
        expires_in_days=expires_in_days,
        organisation=organisation,
        project=project,
        actor=actor,
    )


def organisation_of(account: User) -> Organisation:
    """Raises NotFoundError for the account of a person."""
    if account.service_of is None:
        raise NotFoundError(f"There is no service account {account.pk}.")
    return account.service_of


def _insert(organisation: Organisation, name: str) -> User:
    """Names of different organisations may coincide: then the organisation's id makes the difference."""
    place = slugify(organisation.name, allow_unicode=True)[:MAX_SLUG].strip("-_") or organisation.pk.hex[:8]
    username = f"{name}@{place}{SERVICE_SUFFIX}"
    if User.objects.filter(username=username).exclude(service_of=organisation).exists():
        username = f"{name}@{place}-{organisation.pk.hex[-8:]}{SERVICE_SUFFIX}"
    user = User(username=username, service_of=organisation)
    user.set_unusable_password()
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError as error:
        raise ConflictError(
            f"{organisation.name} has a service account {username} already.",
            code="name_taken",
            field="name",
            remedy="Choose another name.",
        ) from error
    return user


def _require_service_role(role: Role) -> None:
    if role not in SERVICE_ROLES:
        raise InvalidInputError(
            "A service account is a member, a submitter, a viewer or an outsider.",
            field="role",
            remedy="Give it the role member, and let a person do what needs a higher one.",
        )
