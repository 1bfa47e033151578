# SPDX-License-Identifier: Apache-2.0
"""Writes to boosts: quotas that are raised for a time, from now on or later, within those above."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Sum
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.tenants.actions.limits.boosted_guarantees import require_room_for_boosts
from mlhub.tenants.actions.limits.quotas import (
    Owner,
    checked_types,
    quota_of,
    require_quota_right,
    rules_above,
)
from mlhub.tenants.audit import record
from mlhub.tenants.models import Organisation, Project, Quota, QuotaBoost, QuotaRequest, User
from mlhub.tenants.quota_terms.boosts import BoostAmounts, raised, raised_types

MOST_BOOSTS = 8  # of one owner, in effect and to come
MOST_EXTRA = 100_000
LONGEST = timedelta(days=366)
LATE = timedelta(minutes=1)  # a beginning that is so long over is meant as now


def boost_quota(
    owner: Owner,
    *,
    extra_guarantee: int = 0,
    extra_max_gpus: int = 0,
    extra_gpus_by_type: Mapping[str, int] | None = None,
    extra_guarantee_by_type: Mapping[str, int] | None = None,
    starts_at: datetime | None = None,
    ends_at: datetime,
    reason: str = "",
    actor: User | None,
) -> QuotaBoost:
    """Raises a quota until ends_at, from the first round after starts_at on; None = now. Boosts of one owner add up.

    Raises NotAllowedError for who may not change the quota; InvalidInputError for a boost of nothing, of a limit that
    there is not, of a time that is over, or with more guaranteed at some moment than there is above; ConflictError
    when the owner has as many as it may.
    """
    require_quota_right(owner, actor)
    now = timezone.now()
    amounts = checked_amounts(extra_guarantee, extra_max_gpus, extra_gpus_by_type, extra_guarantee_by_type)
    check_times(starts_at, ends_at, now)
    begins_now = starts_at is None or starts_at <= now
    with transaction.atomic():
        organisation = _locked(owner)
        if QuotaBoost.objects.of(owner).not_ended(now).count() >= MOST_BOOSTS:
            raise ConflictError(
                f"{owner.name} has {MOST_BOOSTS} boosts, with those to come.",
                code="too_many_boosts",
                remedy="End one of them first, or change the quota itself.",
            )
        require_limits(owner, amounts)
        boost = QuotaBoost.objects.create(
            organisation=organisation,
            **({} if isinstance(owner, Organisation) else {type(owner).__name__.lower(): owner}),
            extra_guarantee=amounts.guarantee,
            extra_max_gpus=amounts.max_gpus,
            extra_gpus_by_type=amounts.by_type,
            extra_guarantee_by_type=amounts.guarantee_by_type,
            starts_at=now if starts_at is None or begins_now else starts_at,
            began_at=now if begins_now else None,
            ends_at=ends_at,
            reason=reason,
            created_by=actor,
        )
        of_types = "extra_guarantee_by_type"
        field = "extra_guarantee" if amounts.guarantee or not amounts.guarantee_by_type else of_types
        require_room_for_boosts(organisation, field=field, field_of_types=of_types, now=now)
        _record("quota.boosted", boost, actor)
    return boost


def end_boost(boost: QuotaBoost, *, actor: User) -> None:
    """Ends a boost before its time, or cancels one to come.

    Raises NotAllowedError, ConflictError when it has ended or other boosts need it.
    """
    require_quota_right(boost.owner, actor)
    now = timezone.now()
    with transaction.atomic():
        _locked(boost.owner)
        if not QuotaBoost.objects.not_ended(now).filter(pk=boost.pk).update(ended_at=now, ended_by=actor):
            raise ConflictError("This boost has ended.", code="boost_ended", remedy="There is nothing left to end.")
        try:
            require_room_for_boosts(boost.organisation, field="", now=now)
        except InvalidInputError as error:
            raise ConflictError(
                f"Boosts below need this one: {error.message}", code="boost_needed", remedy="End those below first."
            ) from error
        is_to_come = not _begin(boost, now) and QuotaBoost.objects.filter(pk=boost.pk, began_at=None).exists()
        _record("quota.boost_cancelled" if is_to_come else "quota.boost_ended", boost, actor)


def record_begun_boosts(now: datetime) -> int:
    """Appends the event of each boost whose time has come; returns how many. They count since starts_at."""
    begun, n_recorded = QuotaBoost.objects.filter(began_at=None, ended_at=None, starts_at__lte=now), 0
    for boost in begun.select_related("organisation", "team", "project").order_by("starts_at", "id"):
        with transaction.atomic():
            _locked(boost.owner)
            n_recorded += QuotaBoost.objects.filter(pk=boost.pk, ended_at=None).exists() and _begin(boost, now)
    return n_recorded


def _begin(boost: QuotaBoost, now: datetime) -> bool:
    """Returns whether it has begun, and that was recorded only now."""
    to_begin = QuotaBoost.objects.filter(pk=boost.pk, began_at=None, starts_at__lte=now)
    if not to_begin.update(began_at=F("starts_at")):
        return False
    _record("quota.boost_began", boost, None)
    return True


def record_ended_boosts(now: datetime) -> int:
    """Appends the event of each boost whose time is over; returns how many. They have no effect since ends_at."""
    over, n_recorded = QuotaBoost.objects.filter(ended_at=None, ends_at__lte=now), 0
    for boost in over.select_related("organisation", "team", "project").order_by("ends_at", "id"):
        with transaction.atomic():
            if QuotaBoost.objects.filter(pk=boost.pk, ended_at=None).update(ended_at=boost.ends_at):
                _record("quota.boost_ended", boost, None)
                n_recorded += 1
    return n_recorded


def gpu_limit_of(organisation: Organisation) -> int | None:
    """The most GPUs that the organisation may use now, with its boosts; None = no limit."""
    quota: Quota | None = getattr(organisation, "quota", None)
    if quota is None or quota.max_gpus is None:
        return None
    found = QuotaBoost.objects.of(organisation).in_effect(timezone.now())
    return raised(quota.max_gpus, found.aggregate(n=Sum("extra_max_gpus"))["n"] or 0, absent=None)


def gpu_limits_above(project: Project) -> list[tuple[Owner, int]]:
    """The most GPUs that the project, the teams above it and its organisation may use now, where they are limited.

    With their boosts; the nearest first.
    """
    limited = {owner: rules.max_gpus for owner, rules in rules_above(project) if rules.max_gpus is not None}
    if not limited:
        return []
    extras: Counter[UUID] = Counter()
    for boost in QuotaBoost.objects.above(project).in_effect(timezone.now()):
        extras[boost.project_id or boost.team_id or boost.organisation_id] += boost.extra_max_gpus
    return [(owner, most + extras[owner.pk]) for owner, most in limited.items()]


def type_limits_above(project: Project) -> list[tuple[Owner, dict[str, int]]]:
    """The most GPUs of single types that the project, the teams above it and its organisation may use now, by type,
    where they are limited. With their boosts; the nearest first.
    """
    limited = {owner: rules.gpus_by_type for owner, rules in rules_above(project) if rules.gpus_by_type}
    if not limited:
        return []
    extras: defaultdict[UUID, BoostAmounts] = defaultdict(BoostAmounts)
    for boost in QuotaBoost.objects.above(project).in_effect(timezone.now()):
        extras[boost.project_id or boost.team_id or boost.organisation_id] += amounts_of(boost)
    return [(owner, raised_types(by_type, extras[owner.pk].by_type)) for owner, by_type in limited.items()]


def amounts_of(row: QuotaBoost | QuotaRequest) -> BoostAmounts:
    return BoostAmounts(row.extra_guarantee, row.extra_max_gpus, row.extra_gpus_by_type, row.extra_guarantee_by_type)


def checked_amounts(
    extra_guarantee: int,
    extra_max_gpus: int,
    extra_gpus_by_type: Mapping[str, int] | None,
    extra_guarantee_by_type: Mapping[str, int] | None,
) -> BoostAmounts:
    """Raises InvalidInputError for nothing, and for too much."""
    typed = {"extra_gpus_by_type": extra_gpus_by_type, "extra_guarantee_by_type": extra_guarantee_by_type}
    by_type = {field: checked_types(numbers or {}, field=field) for field, numbers in typed.items()}
    counts = [("extra_guarantee", extra_guarantee), ("extra_max_gpus", extra_max_gpus)]
    counts += [(field, n) for field, numbers in by_type.items() for n in numbers.values()]
    for field, value in counts:
        if not 0 <= value <= MOST_EXTRA:
            raise InvalidInputError(f"{field} is {value}.", field=field, remedy=f"Give 0 to {MOST_EXTRA} GPUs.")
    limits, guarantees = ({t: n for t, n in numbers.items() if n} for numbers in by_type.values())
    amounts = BoostAmounts(extra_guarantee, extra_max_gpus, limits, guarantees)
    if not amounts:
        remedy = (
            "Give GPUs that are added to the guarantee, of single types as extra_guarantee_by_type, to max_gpus as "
            "extra_max_gpus, or to limits of single types as extra_gpus_by_type."
        )
        raise InvalidInputError("Nothing would be added.", field="extra_guarantee", remedy=remedy)
    return amounts


def require_limits(owner: Owner, amounts: BoostAmounts) -> None:
    """Raises InvalidInputError for amounts that would be added to a limit that the owner has not."""
    quota = quota_of(owner)
    if amounts.max_gpus and quota.max_gpus is None:
        raise InvalidInputError(
            f"{owner.name} has no limit of GPUs that could be raised.",
            field="extra_max_gpus",
            remedy="Leave extra_max_gpus out.",
        )
    free = [gpu_type for gpu_type in amounts.by_type if gpu_type not in quota.gpus_by_type]
    if free:
        limited = ", ".join(sorted(quota.gpus_by_type))
        raise InvalidInputError(
            f"{owner.name} has no limit of {free[0]} GPUs that could be raised.",
            field="extra_gpus_by_type",
            remedy=f"Name types that it limits: {limited}." if limited else "Leave extra_gpus_by_type out.",
        )


def check_times(starts_at: datetime | None, ends_at: datetime, now: datetime) -> None:
    """Raises InvalidInputError for a beginning or an end that is over or too far away, or in the wrong order.

    starts_at: None = now.
    """
    if starts_at is not None and not now - LATE <= starts_at <= now + LONGEST:
        raise InvalidInputError(
            f"starts_at is {starts_at.isoformat()}.",
            field="starts_at",
            remedy=f"Give a time in the future, at most {LONGEST.days} days from now; leave it out to begin now.",
        )
    if not now < ends_at <= now + LONGEST:
        raise InvalidInputError(
            f"ends_at is {ends_at.isoformat()}.",
            field="ends_at",
            remedy=f"Give a time in the future, at most {LONGEST.days} days from now.",
        )
    if starts_at is not None and starts_at >= ends_at:
        raise InvalidInputError(
            f"starts_at is {starts_at.isoformat()}, and ends_at is {ends_at.isoformat()}.",
            field="starts_at",
            remedy="Give a beginning before the end.",
        )


def _locked(owner: Owner) -> Organisation:
    """The lock of the whole tree, as set_quota() takes it."""
    organisation = owner if isinstance(owner, Organisation) else owner.organisation
    return Organisation.objects.select_for_update().get(pk=organisation.pk)


def _record(kind: str, boost: QuotaBoost, actor: User | None) -> None:
    owner = boost.owner
    record(
        kind,
        organisation=boost.organisation,
        subject_kind="quota",
        subject_id=owner.pk,
        actor=actor,
        boost=boost.pk,
        owner=owner.name,
        owner_kind=type(owner).__name__.lower(),
        extra_guarantee=boost.extra_guarantee,
        extra_max_gpus=boost.extra_max_gpus,
        extra_gpus_by_type=boost.extra_gpus_by_type,
        extra_guarantee_by_type=boost.extra_guarantee_by_type,
        starts_at=boost.starts_at,
        ends_at=boost.ends_at,
        reason=boost.reason,
    )
