# SPDX-License-Identifier: Apache-2.0
"""Writes to requests for quota: who submits asks, who may change it answers, and an approval is applied at once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError, NotAllowedError
from mlhub.tenants.access_control.assignments import above, described, holders
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions.limits.boosts import boost_quota, check_times, checked_amounts, require_limits
from mlhub.tenants.actions.limits.quotas import Owner, quota_of, require_quota_right, set_quota
from mlhub.tenants.audit import record
from mlhub.tenants.mail import send_mail_on_commit
from mlhub.tenants.models import Organisation, QuotaRequest, User
from mlhub.tenants.quota_terms.boosts import BoostAmounts, raised_guarantees, raised_types
from mlhub.tenants.roles import Role
from mlhub.wire.words import counted

MOST_WAITING = 5  # of one user in one organisation
MOST_MAILED = 10  # admins who are notified of a request
AMOUNTS = ("extra_guarantee", "extra_guarantee_by_type", "extra_max_gpus", "extra_gpus_by_type")


def request_quota(
    owner: Owner,
    *,
    extra_guarantee: int = 0,
    extra_max_gpus: int = 0,
    extra_gpus_by_type: Mapping[str, int] | None = None,
    extra_guarantee_by_type: Mapping[str, int] | None = None,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
    reason: str,
    actor: User,
) -> QuotaRequest:
    """Asks for GPUs to be added to an owner's quota from starts_at (None: the approval) until ends_at, or for good; the
    owner's admins are notified.

    Raises InvalidInputError for a request of nothing, of a limit that there is not, without a reason, of a time that
    is over, or of a later beginning for good; ConflictError when the user has as many requests waiting as one may;
    NotAllowedError.
    """
    organisation = owner if isinstance(owner, Organisation) else owner.organisation
    require_role(actor, owner, Role.SUBMITTER)
    amounts = checked_amounts(extra_guarantee, extra_max_gpus, extra_gpus_by_type, extra_guarantee_by_type)
    if ends_at is not None:
        check_times(starts_at, ends_at, timezone.now())
    elif starts_at is not None:
        raise InvalidInputError(
            "A request for good begins with its approval.",
            field="starts_at",
            remedy="Give ends_at, too, or leave starts_at out.",
        )
    if not reason.strip():
        raise InvalidInputError(
            "The request has no reason.", field="reason", remedy="Say what the GPUs are for, to who decides."
        )
    require_limits(owner, amounts)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=actor.pk)  # two requests at once count each other
        if organisation.quota_requests.waiting().filter(requested_by=actor).count() >= MOST_WAITING:
            raise ConflictError(
                f"You have {MOST_WAITING} requests waiting in {organisation.name}.",
                code="too_many_requests_waiting",
                remedy="Withdraw one of them, or wait for an answer.",
            )
        made = QuotaRequest.objects.create(
            organisation=organisation,
            **({} if isinstance(owner, Organisation) else {type(owner).__name__.lower(): owner}),
            extra_guarantee=amounts.guarantee,
            extra_max_gpus=amounts.max_gpus,
            extra_gpus_by_type=amounts.by_type,
            extra_guarantee_by_type=amounts.guarantee_by_type,
            starts_at=starts_at,
            ends_at=ends_at,
            reason=reason.strip(),
            requested_by=actor,
        )
        _record("quota.requested", made, actor)
        for admin in _deciders(owner)[:MOST_MAILED]:
            _mail(admin, made, f"{actor.username} requests quota for {described(owner)}", made.reason)
    return made


def approve_request(
    asked: QuotaRequest,
    *,
    extra_guarantee: int | None = None,
    extra_max_gpus: int | None = None,
    extra_gpus_by_type: Mapping[str, int] | None = None,
    extra_guarantee_by_type: Mapping[str, int] | None = None,
    note: str = "",
    actor: User,
) -> QuotaRequest:
    """Gives what was asked for, or the amounts given here: as a boost until its end, or by a change of the quota. A
    beginning that is over by then is now.

    Raises NotAllowedError for who may not change the quota, ConflictError when it was answered before, and what
    boost_quota() and set_quota() raise; the request then waits on.
    """
    require_quota_right(asked.owner, actor)
    with transaction.atomic():
        asked = _waiting(asked, yours={"state": "approved", "note": note.strip()})
        given = checked_amounts(
            asked.extra_guarantee if extra_guarantee is None else extra_guarantee,
            asked.extra_max_gpus if extra_max_gpus is None else extra_max_gpus,
            asked.extra_gpus_by_type if extra_gpus_by_type is None else extra_gpus_by_type,
            asked.extra_guarantee_by_type if extra_guarantee_by_type is None else extra_guarantee_by_type,
        )
        asked.extra_guarantee, asked.extra_max_gpus = given.guarantee, given.max_gpus
        asked.extra_gpus_by_type, asked.extra_guarantee_by_type = dict(given.by_type), dict(given.guarantee_by_type)
        if asked.ends_at is not None:
            is_to_come = asked.starts_at is not None and asked.starts_at > timezone.now()
            boost_quota(
                asked.owner,
                extra_guarantee=given.guarantee,
                extra_max_gpus=given.max_gpus,
                extra_gpus_by_type=given.by_type,
                extra_guarantee_by_type=given.guarantee_by_type,
                starts_at=asked.starts_at if is_to_come else None,
                ends_at=asked.ends_at,
                reason=asked.reason[:200],
                actor=actor,
            )
        else:
            _add_for_good(asked.owner, given, actor)
        return _answered(asked, "approved", note, actor)


def refuse_request(asked: QuotaRequest, *, note: str, actor: User) -> QuotaRequest:
    """Refuses it with a reason. Raises NotAllowedError, InvalidInputError; ConflictError when it was answered."""
    require_quota_right(asked.owner, actor)
    if not note.strip():
        raise InvalidInputError("A refusal needs a reason.", field="note", remedy="Say why, to who asked.")
    with transaction.atomic():
        return _answered(_waiting(asked, yours={"state": "refused", "note": note.strip()}), "refused", note, actor)


def withdraw_request(asked: QuotaRequest, *, actor: User) -> QuotaRequest:
    """By who asked. Raises NotAllowedError for others, ConflictError when it was answered before."""
    if asked.requested_by_id != actor.pk:
        raise NotAllowedError(
            "Only who made a request may withdraw it.", remedy="Refuse it, if you may change the quota."
        )
    with transaction.atomic():
        return _answered(_waiting(asked, yours={"state": "withdrawn", "note": ""}), "withdrawn", "", actor)


def _add_for_good(owner: Owner, given: BoostAmounts, actor: User) -> None:
    """Limits that the owner has no more are not raised."""
    organisation = owner if isinstance(owner, Organisation) else owner.organisation
    Organisation.objects.select_for_update().get(pk=organisation.pk)  # as set_quota(): what is read here stays so
    quota = quota_of(owner)
    changes: dict[str, Any] = {}
    if given.max_gpus and quota.max_gpus is not None:
        changes["max_gpus"] = quota.max_gpus + given.max_gpus
    if given.guaranteed:
        guarantee, of_types = raised_guarantees(quota.guarantee, quota.guarantee_by_type, given)
        present = {"guarantee": quota.guarantee, "guarantee_by_type": quota.guarantee_by_type}
        wanted = {"guarantee": guarantee, "guarantee_by_type": of_types}
        changes |= {name: value for name, value in wanted.items() if value != present[name]}
    if given.by_type:
        changes["gpus_by_type"] = raised_types(quota.gpus_by_type, given.by_type)
    set_quota(owner, actor=actor, **changes)


def _waiting(asked: QuotaRequest, *, yours: Mapping[str, str]) -> QuotaRequest:
    """The request, locked. yours: the answer that the caller gives. Raises ConflictError with both answers."""
    found: QuotaRequest = QuotaRequest.objects.select_for_update().get(pk=asked.pk)
    if not found.answer:
        return found
    by = found.answered_by.username if found.answered_by else ""
    said = found.note.rstrip(".")
    raise ConflictError(
        f"This request was {found.answer} already{f' by {by}' if by else ''}{f': {said}' if said else ''}.",
        code="request_answered",
        remedy="There is nothing left to decide; a new request may be made.",
        present={
            "state": found.answer,
            "note": found.note,
            "answered_by": by,
            "answered_at": found.answered_at,
            **{name: getattr(found, name) for name in AMOUNTS},
        },
        yours=dict(yours),
    )


def _answered(asked: QuotaRequest, answer: str, note: str, actor: User) -> QuotaRequest:
    asked.answer, asked.note, asked.answered_by, asked.answered_at = answer, note.strip(), actor, timezone.now()
    asked.save()
    _record(f"quota.request_{answer}", asked, actor)
    if actor.pk != asked.requested_by_id:
        by = f"Your request for {described(asked.owner)} was {answer} by {actor.username}"
        _mail(asked.requested_by, asked, by, asked.note)
    return asked


def _deciders(owner: Owner) -> list[User]:
    """Who may change the owner's quota and has an address."""
    people = User.objects.filter(is_active=True).exclude(email="").order_by("username")
    if isinstance(owner, Organisation):
        return list(people.filter(is_staff=True))
    return list(people.filter(pk__in=holders(above(owner), Role.ADMIN).values("user")))


def _mail(user: User, asked: QuotaRequest, subject: str, text: str) -> None:
    if user.email and user.is_active:
        lines = [subject + ".", f"{_amounts(asked)}.", text, f"{settings.PUBLIC_URL}/quotas"]
        send_mail_on_commit(user.email, subject=subject[:200], text="\n\n".join(line for line in lines if line))


def _amounts(asked: QuotaRequest) -> str:
    parts = []
    if asked.extra_guarantee:
        parts.append(counted(asked.extra_guarantee, "more guaranteed GPU"))
    parts += [counted(n, f"more guaranteed {gpu_type} GPU") for gpu_type, n in asked.extra_guarantee_by_type.items()]
    if asked.extra_max_gpus:
        parts.append(f"{counted(asked.extra_max_gpus, 'more GPU')} at most")
    parts += [f"{counted(n, f'more {gpu_type} GPU')} at most" for gpu_type, n in asked.extra_gpus_by_type.items()]
    until = "for good" if asked.ends_at is None else f"until {asked.ends_at:%Y-%m-%d %H:%M} UTC"
    since = "" if asked.starts_at is None else f"from {asked.starts_at:%Y-%m-%d %H:%M} UTC "
    return f"{' and '.join(parts)}, {since}{until}"


def _record(kind: str, asked: QuotaRequest, actor: User) -> None:
    owner = asked.owner
    record(
        kind,
        organisation=asked.organisation,
        subject_kind="quota",
        subject_id=owner.pk,
        actor=actor,
        request=asked.pk,
        name=owner.name,
        owner_kind=type(owner).__name__.lower(),
        extra_guarantee=asked.extra_guarantee,
        extra_max_gpus=asked.extra_max_gpus,
        extra_gpus_by_type=asked.extra_gpus_by_type,
        extra_guarantee_by_type=asked.extra_guarantee_by_type,
        starts_at=asked.starts_at,
        ends_at=asked.ends_at,
        reason=asked.note if asked.answer else asked.reason,
    )
