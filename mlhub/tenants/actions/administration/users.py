# SPDX-License-Identifier: Apache-2.0
"""Accounts as administrators of the platform manage them: changing, deactivating and deleting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import models, transaction

from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError
from mlhub.core.locks import lock_until_commit
from mlhub.tenants.actions.membership.role_bindings import withdraw_all
from mlhub.tenants.actions.sign_in.sessions import end_sessions
from mlhub.tenants.audit import record
from mlhub.tenants.models import Invitation, Membership, Organisation, User
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.lockout import forget_failures
from mlhub.wire.words import counted_words

CHANGEABLE = ("email", "is_active", "is_staff")


@dataclass(frozen=True)
class Remainder:
    """Rows that an account made and that stay: their kind in words, how many there are, and how many run now."""

    kind: str
    n: int
    n_running: int


def change_user(user: User, *, actor: User, **changes: Any) -> User:
    """changes: some of CHANGEABLE. Deactivating ends the account's sessions; its tokens are refused from then on.

    Raises ConflictError when no active administrator would remain.
    """
    with transaction.atomic():
        lock_until_commit("administrators")
        user = _locked(user)
        before = {name: getattr(user, name) for name in CHANGEABLE if name in changes}
        after = {name: changes[name] for name in before}
        if before == after:
            return user
        if after.get("is_staff") and user.service_of_id is not None:
            raise ConflictError(
                f"{user.username} is a service account.",
                code="service_account",
                remedy="Make the account of a person an administrator.",
            )
        if False in (after.get("is_active"), after.get("is_staff")):
            _require_another_administrator(user)
        for name, value in after.items():
            setattr(user, name, value)
        user.is_superuser = user.is_staff
        user.save(update_fields=[*after, "is_superuser"])
        if not user.is_active:
            end_sessions(user, actor=actor)
        _record("user.changed", user, actor, before=before, after=after)
    return user


def remains_of(user: User) -> list[Remainder]:
    """What the account made and what needs another maker when the account is deleted."""
    return [Remainder(noun, n, _n_running(rows)) for noun, rows in _made_by(user) if (n := rows.count())]


def sole_ownerships(user: User) -> list[str]:
    """The names of the organisations that have no other owner."""
    owners = Membership.objects.filter(role=Role.OWNER)
    held = owners.filter(user=user).exclude(organisation__in=owners.exclude(user=user).values("organisation"))
    return list(held.order_by("organisation__name").values_list("organisation__name", flat=True))


def delete_user(user: User, *, heir: User | None, actor: User) -> None:
    """For good; what the account made passes to the heir, and events and the ledger of GPU-hours keep its name.

    Raises ConflictError for the last administrator, for the only owner of an organisation, and when there are rows
    without an heir; InvalidInputError for an heir who may not see them.
    """
    with transaction.atomic():
        lock_until_commit("administrators")
        # organisations first, as changes of memberships do: no owner leaves meanwhile, and no two wait for each other
        owned = Organisation.objects.filter(pk__in=user.memberships.values("organisation")).order_by("pk")
        list(owned.select_for_update())
        user = _locked(user)
        _require_another_administrator(user)
        if names := sole_ownerships(user):
            raise ConflictError(
                f"{user.username} is the only owner of {', '.join(names)}.",
                code="last_owner",
                remedy="Make another member an owner first, or delete the organisation.",
            )
        remains = remains_of(user)
        if remains:
            _hand_over(user, heir, remains)
        end_sessions(user, actor=actor)
        passed = {"remains": {each.kind: each.n for each in remains}, "heir": heir.username if heir else None}
        for membership in user.memberships.select_related("organisation").order_by("pk"):
            withdraw_all(membership, actor=actor)
            _record_removal(membership, actor)
        _record("user.deleted", user, actor, **passed)
        forget_failures(user.username)
        # no later account of this name accepts what was meant for this person
        Invitation.objects.filter(username=user.username).delete()
        user.delete()


def _locked(user: User) -> User:
    """Raises NotFoundError for one that was deleted meanwhile."""
    found = User.objects.select_for_update().filter(pk=user.pk).first()
    if found is None:
        raise NotFoundError(f"There is no user {user.username} any more.")
    return found


def _record_removal(membership: Membership, actor: User) -> None:
    record(
        "membership.removed",
        organisation=membership.organisation,
        subject_kind="membership",
        subject_id=membership.pk,
        actor=actor,
        username=membership.user.username,
        user_id=membership.user_id,
        role=membership.role,
    )


def _hand_over(user: User, heir: User | None, remains: list[Remainder]) -> None:
    if heir is None:
        words = ", ".join(counted_words(each.n, each.kind) for each in remains)
        raise ConflictError(
            f"{user.username} made {words}.",
            code="heir_needed",
            field="reassign_to",
            remedy="Name the user who becomes their maker, or deactivate the account instead.",
        )
    for _, rows in _made_by(user):
        _require_member(heir, rows)
        rows.update(**{_maker_field(rows.model): heir})


def _require_member(heir: User, rows: models.QuerySet[Any]) -> None:
    organisations = rows.values_list(rows.organisation_path, flat=True).distinct()  # type: ignore[attr-defined]
    missing = set(organisations) - set(heir.memberships.values_list("organisation", flat=True)) - {None}
    if (missing and not heir.is_staff) or not heir.is_active:
        names = ", ".join(Organisation.objects.filter(pk__in=missing).order_by("name").values_list("name", flat=True))
        raise InvalidInputError(
            f"{heir.username} is no active member of {names or 'an organisation'}.",
            field="reassign_to",
            remedy="Name an active user who belongs to these organisations.",
        )


def _made_by(user: User) -> list[tuple[str, models.QuerySet[Any]]]:
    """The rows that keep the account from being deleted, by their kind in words."""
    return [
        (str(model._meta.verbose_name_plural), model._default_manager.filter(**{_maker_field(model): user}))
        for model in apps.get_models()
        if _maker_field(model)
    ]


def _n_running(rows: models.QuerySet[Any]) -> int:
    """How many of them hold GPUs, where rows of their kind do."""
    return int(rows.holding_gpus().count()) if hasattr(rows, "holding_gpus") else 0


def _maker_field(model: type[models.Model]) -> str:
    """The name of the field that names a row's maker; "" for rows that go with an account or have no maker."""
    links = [field for field in model._meta.fields if field.related_model is User]
    kept = [field.name for field in links if getattr(field.remote_field, "on_delete", None) is models.PROTECT]
    return kept[0] if kept else ""


def _require_another_administrator(user: User) -> None:
    if not user.is_staff:
        return
    if not User.objects.filter(is_staff=True, is_active=True).exclude(pk=user.pk).exists():
        raise ConflictError(
            f"{user.username} is the last active administrator of the platform.",
            code="last_administrator",
            remedy="Make another user an administrator first.",
        )


def _record(kind: str, user: User, actor: User, **facts: Any) -> None:
    """What happens to a service account is shown to its organisation; to a person, to platform administrators."""
    facts = {"username": user.username, "user_id": user.pk, **facts}
    record(kind, organisation=user.service_of, subject_kind="user", subject_id=user.pk, actor=actor, **facts)
