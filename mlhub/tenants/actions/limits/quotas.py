# SPDX-License-Identifier: Apache-2.0
"""Writes to quotas: of an organisation, a team or a project; versioned, audited, within those above."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError, NotAllowedError
from mlhub.tenants.access_control.assignments import above
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions.limits.boosted_guarantees import require_room_for_boosts
from mlhub.tenants.audit import record
from mlhub.tenants.models import Organisation, Project, ProjectQuota, Quota, QuotaRules, Team, TeamQuota, User
from mlhub.tenants.quota_terms.boosts import rest_of
from mlhub.tenants.quota_terms.budgets import checked_budgets
from mlhub.tenants.roles import Role
from mlhub.wire.words import counted, of_them, too_many

Owner = Organisation | Team | Project
LIMITS = (
    "max_gpus", "max_cpus", "max_memory_bytes", "max_running_jobs", "max_waiting_jobs", "max_storage_bytes",
    "guarantee", "borrow_limit", "lend_limit",
)  # fmt: skip
LIMITS_BY_TYPE = ("borrow_limit_by_type", "lend_limit_by_type")
BY_TYPE = ("gpus_by_type", "guarantee_by_type", *LIMITS_BY_TYPE)
RULES = (*LIMITS, *BY_TYPE, "reclaim", "weight", "shares_fairly", "half_life_s", "max_priority", "budgets")
MOST_PRIORITY = 100
MOST_TYPES = 50
MOST_GPUS = 1_000_000
MAX_TYPE_CHARS = 100
MOST_HALF_LIFE_S = 366 * 86400.0
_Check = tuple[Callable[[Any], bool], str]  # whether a value may be, and what to give instead
_RECLAIM = dict(QuotaRules.RECLAIM)
_LIMIT: _Check = (
    lambda value: value is None or value >= 0, "Give 0 or more, or null for no limit."
)  # fmt: skip
_VALUES: Mapping[str, _Check] = {  # of rules that are no limits: what they may be
    "reclaim": (_RECLAIM.__contains__, f"Give one of {', '.join(_RECLAIM)}."),
    "shares_fairly": (lambda value: isinstance(value, bool), "Give true or false."),
    "half_life_s": (
        lambda value: value is not None and 0 <= value <= MOST_HALF_LIFE_S,
        "Give seconds, up to a year; 0: what was used before does not count.",
    ),
    "weight": (lambda value: value is not None and 0 < value <= 1e6, "Give more than 0, 1 for the usual."),
    "max_priority": (
        lambda value: value is None or 0 <= value <= MOST_PRIORITY,
        f"Give 0 to {MOST_PRIORITY}, or null for the usual.",
    ),
}


def set_quota(owner: Owner, *, version: int | None = None, actor: User | None, **changes: Any) -> QuotaRules:
    """Changes the rules named; None lifts a limit or a guarantee. No job is lost by it: those above a limit are stopped
    with a checkpoint by the next round, and wait; what is borrowed is taken back only when its owner needs it.

    version: the one that the caller saw; None = whatever it is now. Organisations' quotas are set by platform
    administrators, parts of it by the admins of what is above: of the team, or of the organisation. Raises
    ConflictError when another user changed it since, InvalidInputError for a value that makes no sense or guarantees
    more than there is above, NotAllowedError.
    """
    require_quota_right(owner, actor)
    if "budgets" in changes:
        changes["budgets"] = checked_budgets(changes["budgets"])
    changes |= {field: checked_types(changes[field], field=field) for field in BY_TYPE if field in changes}
    _check_values(changes)
    with transaction.atomic():
        organisation = owner if isinstance(owner, Organisation) else owner.organisation
        # one lock for the whole tree, so that two edits cannot guarantee the same GPUs
        Organisation.objects.select_for_update().get(pk=organisation.pk)
        quota = quota_of(owner, locked=True)
        if version is not None and version != quota.version:
            raise ConflictError(
                f"Another user changed this quota meanwhile: you saw version {version}, it is at {quota.version}.",
                code="stale_version",
                field="version",
                remedy="Compare `present` with `yours`, and send your change with the present version, or leave it.",
                version=quota.version,
                changed_at=quota.updated_at,
                present={field: getattr(quota, field) for field in changes},
                yours=changes,
            )
        before = {field: getattr(quota, field) for field in changes}
        if before == changes:
            return quota
        for field, value in changes.items():
            setattr(quota, field, value)
        _check_sums(owner, quota, changes)
        quota.version += 1
        quota.save()
        if field := next(
            (name for name in ("guarantee", "gpus_by_type", "guarantee_by_type", "max_gpus") if name in changes), ""
        ):
            require_room_for_boosts(organisation, field=field, now=timezone.now())
        record(
            "quota.changed",
            organisation=organisation,
            subject_kind="quota",
            subject_id=owner.pk,
            actor=actor,
            before=before,
            after=changes,
            version=quota.version,
            owner=owner.name,
            owner_kind=type(owner).__name__.lower(),
        )
    return quota


def quota_of(owner: Owner, *, locked: bool = False) -> QuotaRules:
    """The owner's quota; without limits, if there is none yet."""
    rows: Any = {Organisation: Quota, Team: TeamQuota, Project: ProjectQuota}[type(owner)]._default_manager
    key = type(owner).__name__.lower()
    rows.get_or_create(**{key: owner})
    found: QuotaRules = (rows.select_for_update() if locked else rows).get(**{key: owner})
    return found


def owners_above(project: Project) -> list[Owner]:
    """Whose rules may hold for the project: itself, the teams above it, the nearest first, and its organisation."""
    return [project, *Team.objects.line_of(project.team), project.organisation]


def rules_above(project: Project) -> list[tuple[Owner, QuotaRules]]:
    """The rules that hold for the project: its own, those of the teams above it and of its organisation, the nearest
    first; without owners that have none.
    """
    return [(owner, rules) for owner in owners_above(project) if (rules := getattr(owner, "quota", None)) is not None]


def within(owner: Owner) -> dict[str, Any]:
    """What belongs to the owner, with all below it, as a filter of rows that have a project."""
    if isinstance(owner, Project):
        return {"project": owner}
    if isinstance(owner, Team):
        return {"project__team__in": Team.objects.below([owner.pk])}
    return {"project__organisation": owner}


def raised_by(owner: Owner) -> str:
    """Who can raise the owner's limits, as a remedy names them."""
    if isinstance(owner, Organisation):
        return "an administrator of the platform"
    place = above(owner)
    return f"an admin of {place.name}" + (f" or of {owner.organisation.name}" if isinstance(place, Team) else "")


def raised_within(owner: Owner) -> str:
    """Who can raise limits of single users in the owner, as a remedy names them."""
    return f"an admin of {owner.name}" + (
        "" if isinstance(owner, Organisation) else f" or of {owner.organisation.name}"
    )


def checked_types(value: Any, *, field: str = "gpus_by_type") -> dict[str, int]:
    """Returns numbers of GPUs by type. Raises InvalidInputError for what is none, which names the field."""
    if not isinstance(value, Mapping) or len(value) > MOST_TYPES:
        remedy = f'Give {{"A100": 2}}, with at most {MOST_TYPES} types.'
        raise InvalidInputError(f"{field} gives no number by GPU type.", field=field, remedy=remedy)
    for gpu_type, most in value.items():
        is_count = isinstance(most, int) and not isinstance(most, bool) and 0 <= most <= MOST_GPUS
        if not gpu_type or len(str(gpu_type)) > MAX_TYPE_CHARS or not is_count:
            raise InvalidInputError(
                f"{field} has {gpu_type!r}: {most!r}.",
                field=field,
                remedy=f"Give a number of GPUs from 0 to {MOST_GPUS:,} by GPU type; leave a type out for none.",
            )
    return {str(gpu_type): int(most) for gpu_type, most in sorted(value.items())}


def require_quota_right(owner: Owner, actor: User | None) -> None:
    """Raises NotAllowedError for who may not change the owner's quota. actor: None = the platform itself."""
    if actor is None:
        return
    if not isinstance(owner, Organisation):
        require_role(actor, above(owner), Role.ADMIN)
    elif not actor.is_staff:
        raise NotAllowedError(
            f"The quota of {owner.name} is set by the platform's administrators.",
            code="administrator_needed",
            remedy="Request it on the page Quotas, which they answer; admins of an organisation share it out among its "
            "teams and projects.",
        )


def _check_values(changes: Mapping[str, Any]) -> None:
    """Raises InvalidInputError for a rule that does not exist, or a value that it cannot have."""
    for field, value in changes.items():
        if field not in RULES:
            raise InvalidInputError(f"There is no {field} here.", field=field, remedy=f"One of {', '.join(RULES)}.")
        if field in ("budgets", *BY_TYPE):
            continue  # checked_budgets() and checked_types() have seen them
        is_valid, remedy = _VALUES.get(field, _LIMIT)
        if not is_valid(value):
            shown = repr(value) if isinstance(value, str) else value
            raise InvalidInputError(f"{field} is {shown}.", field=field, remedy=remedy)


def _check_sums(owner: Owner, quota: QuotaRules, changes: Mapping[str, Any]) -> None:
    """A guarantee is below the hard limit, within the guarantee above, and above the sum of those below."""
    guarantee = quota.guarantee or 0
    field = "guarantee" if "guarantee" in changes else "max_gpus"
    if quota.max_gpus is not None and guarantee > quota.max_gpus:
        raise InvalidInputError(
            f"{owner.name} would be guaranteed {counted(guarantee, 'GPU')}, and may never use more than "
            f"{quota.max_gpus}.",
            field=field,
            remedy=f"Guarantee at most {quota.max_gpus}, or raise max_gpus.",
        )
    _check_types(owner, quota, changes)
    if "guarantee" not in changes:
        return
    below = sum(q.guarantee or 0 for q in _parts_of(owner))
    if guarantee < below:
        raise InvalidInputError(
            f"Teams and projects of {owner.name} are guaranteed {counted(below, 'GPU')} in sum, more than {guarantee}.",
            field="guarantee",
            remedy=f"Give at least {below}, or lower theirs first.",
        )
    if not isinstance(owner, Organisation):
        owner.refresh_from_db(fields=["parent" if isinstance(owner, Team) else "team"])  # it may have been moved
    require_room_above(owner, guarantee, field="guarantee")


def _check_types(owner: Owner, quota: QuotaRules, changes: Mapping[str, Any]) -> None:
    """Guarantees of types, with those below, are within limits and guarantees here, and within those above."""
    if not {"guarantee", "guarantee_by_type", "max_gpus", "gpus_by_type"} & changes.keys():
        return
    own, parts = quota.guarantee_by_type, _parts_of(owner)
    field = next(name for name in ("guarantee_by_type", "gpus_by_type", "guarantee", "max_gpus") if name in changes)
    for gpu_type, most in quota.gpus_by_type.items():
        if (n := own.get(gpu_type, 0)) > most:
            raise InvalidInputError(
                f"{owner.name} would be guaranteed {counted(n, 'GPU')} of type {gpu_type}, and may never use more "
                f"than {most}.",
                field=field,
                remedy=f"Guarantee at most {most}, or raise gpus_by_type of {gpu_type}.",
            )
    total, rest = sum(own.values()), _rest(quota)
    for name, value in (("guarantee", quota.guarantee), ("max_gpus", quota.max_gpus)):
        if value is not None and total > value:
            raise InvalidInputError(
                f"{owner.name} would be guaranteed {counted(total, 'GPU')} of single types in sum, and its {name} "
                f"is {value}: guarantees of types are a part of it.",
                field=field,
                remedy=f"Guarantee at most {value} of single types, or raise {name}.",
            )
    of_any = sum(map(_rest, parts))
    if of_any > rest and (own or any(part.guarantee_by_type for part in parts)) and field != "gpus_by_type":
        raise InvalidInputError(
            f"Teams and projects of {owner.name} are guaranteed {counted(of_any, 'GPU')} of any type in sum; "
            f"besides those of single types {rest} would be left.",
            field=field,
            remedy=f"Guarantee {of_any} more than of single types, {of_any + total} in all, or lower theirs first.",
        )
    if not {"guarantee", "guarantee_by_type"} & changes.keys():
        return
    for gpu_type in sorted({gpu_type for part in parts for gpu_type in part.guarantee_by_type}):
        below = sum(part.guarantee_by_type.get(gpu_type, 0) for part in parts)
        if (n := own.get(gpu_type, 0)) < below:
            raise InvalidInputError(
                f"Teams and projects of {owner.name} are guaranteed {counted(below, 'GPU')} of type {gpu_type} in "
                f"sum, more than {n}.",
                field="guarantee_by_type",
                remedy=f"Give at least {below}, or lower theirs first.",
            )
    require_types_above(owner, quota, field=field)


def _rest(quota: QuotaRules) -> int:
    return rest_of(quota.guarantee, quota.guarantee_by_type)


def require_types_above(owner: Owner, quota: QuotaRules, *, field: str, remedy: str = "") -> None:
    """Raises InvalidInputError when guarantees of single types, with those of the owner's siblings, are more than their
    parent has. Organisations have none.

    field: the input that is at fault. The caller holds the organisation's lock.
    """
    parent = None if isinstance(owner, Organisation) else above(owner)
    if parent is None:
        return
    there_are, siblings = quota_of(parent), [q for q in _parts_of(parent) if q.pk != owner.pk]
    for gpu_type, n in quota.guarantee_by_type.items():
        others = sum(q.guarantee_by_type.get(gpu_type, 0) for q in siblings)
        there = there_are.guarantee_by_type.get(gpu_type, 0)
        if not n:
            continue
        if others + n > there:
            raise InvalidInputError(
                f"{parent.name} is guaranteed {counted(there, 'GPU')} of type {gpu_type}, and {of_them(others)} "
                f"shared out; {too_many(n)}.",
                field=field,
                remedy=remedy
                or f"Give at most {max(0, there - others)}, or have the guarantee of {parent.name} by type raised.",
            )
    others, there, n = sum(map(_rest, siblings)), _rest(there_are), _rest(quota)
    if n and others + n > there and any(q.guarantee_by_type for q in (quota, there_are, *siblings)):
        raise InvalidInputError(
            f"{parent.name} is guaranteed {counted(there, 'GPU')} of any type besides those of single types, and "
            f"{of_them(others)} shared out; {too_many(n)}.",
            field=field,
            remedy=remedy or f"Give at most {max(0, there - others)} of any type, or name types that it has left.",
        )


def require_room_above(owner: Owner, guarantee: int, *, field: str, remedy: str = "") -> None:
    """Raises InvalidInputError when the owner's guarantee, with those of its siblings, is more than what is above has.

    field: the input that is at fault. The caller holds the organisation's lock.
    """
    parent = None if isinstance(owner, Organisation) else above(owner)
    if parent is None or not guarantee:
        return
    others = sum(q.guarantee or 0 for q in _parts_of(parent) if q.pk != owner.pk)
    there = quota_of(parent).guarantee or 0
    if others + guarantee > there:
        raise InvalidInputError(
            f"{parent.name} is guaranteed {counted(there, 'GPU')}, and {of_them(others)} shared out; "
            f"{too_many(guarantee)}.",
            field=field,
            remedy=remedy or f"Give at most {max(0, there - others)}, or have the guarantee of {parent.name} raised.",
        )


def _parts_of(owner: Owner) -> list[QuotaRules]:
    """Quotas directly below."""
    if isinstance(owner, Project):
        return []
    place = {"organisation": owner, "parent": None} if isinstance(owner, Organisation) else {"parent": owner}
    teams = TeamQuota.objects.filter(**{f"team__{field}": value for field, value in place.items()})
    place = {"organisation": owner, "team": None} if isinstance(owner, Organisation) else {"team": owner}
    return [*teams, *ProjectQuota.objects.filter(**{f"project__{field}": value for field, value in place.items()})]
