# SPDX-License-Identifier: Apache-2.0
"""Guarantees with boosts against what they are part of: of single GPU types, of any type, and in sum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mlhub.core.errors import InvalidInputError
from mlhub.tenants.access_control.assignments import above
from mlhub.tenants.models import Organisation, Project, QuotaBoost, QuotaRules, Team
from mlhub.tenants.quota_terms.boosts import Excess, Extra, OwnerRules, first_excess, rest_of


@dataclass(frozen=True)
class _Owner:
    """An owner in the tree, with its rules where it has any."""

    node: Organisation | Team | Project
    above: Organisation | Team | None
    quota: QuotaRules | None

    @property
    def guarantee(self) -> int | None:
        return None if self.quota is None else self.quota.guarantee

    @property
    def by_type(self) -> dict[str, int]:
        return {} if self.quota is None else self.quota.guarantee_by_type


@dataclass(frozen=True)
class _Books:
    """What is compared. gpus: in words. limit: the rule that may be exceeded by the owner itself."""

    rules: list[OwnerRules]
    extras: list[Extra]
    gpus: str = "GPUs"
    limit: str = "max_gpus"


def require_room_for_boosts(
    organisation: Organisation, *, field: str, now: datetime, field_of_types: str | None = None
) -> None:
    """Raises InvalidInputError when a boost guarantees more, now or once another one begins or ends, than there is
    above.

    field: the input that is at fault; field_of_types: where it is a number of a single type. The caller holds the
    organisation's lock.
    """
    boosts = list(organisation.boosts.not_ended(now).select_related("team", "project"))
    if not boosts:
        return
    nodes: list[Organisation | Team | Project] = [Organisation.objects.select_related("quota").get(pk=organisation.pk)]
    nodes += organisation.teams.select_related("quota", "organisation", "parent")
    nodes += organisation.projects.select_related("quota", "team", "organisation")
    owners = [
        _Owner(node, None if isinstance(node, Organisation) else above(node), getattr(node, "quota", None))
        for node in nodes
    ]
    names = {owner.node.pk: owner.node.name for owner in owners}
    for gpu_type, books in _books(owners, boosts):
        rules = {owner.node.pk: one for owner, one in zip(owners, books.rules, strict=True)}
        found = first_excess(rules, books.extras, now=now)
        if found is not None:
            at_fault = field if not gpu_type or field_of_types is None else field_of_types
            raise _error(found, books, names=names, field=at_fault, now=now)


def _books(owners: Sequence[_Owner], boosts: Sequence[QuotaBoost]) -> Iterator[tuple[str, _Books]]:
    """Of each guaranteed type, and as "" of any type, and of all together."""
    parents = [owner.above.pk if owner.above is not None else None for owner in owners]
    typed = [owner.by_type for owner in owners] + [boost.extra_guarantee_by_type for boost in boosts]
    for gpu_type in sorted({gpu_type for by_type in typed for gpu_type in by_type}):
        limits = [None if owner.quota is None else owner.quota.gpus_by_type.get(gpu_type) for owner in owners]
        guarantees = [owner.by_type.get(gpu_type) for owner in owners]
        extras = [
            Extra(
                boost.owner.pk,
                boost.extra_guarantee_by_type.get(gpu_type, 0),
                boost.extra_gpus_by_type.get(gpu_type, 0),
                *_window(boost),
            )
            for boost in boosts
        ]
        rules = [OwnerRules(*one) for one in zip(parents, guarantees, limits, strict=True)]
        yield gpu_type, _Books(rules, extras, f"GPUs of type {gpu_type}", f"gpus_by_type of {gpu_type}")
    rests = [OwnerRules(at, rest_of(o.guarantee, o.by_type), None) for at, o in zip(parents, owners, strict=True)]
    is_typed = any(typed)
    any_type = "GPUs of any type besides those of single types" if is_typed else "GPUs"
    yield "", _Books(rests, [Extra(b.owner.pk, b.extra_guarantee, 0, *_window(b)) for b in boosts], any_type)
    in_all = [
        OwnerRules(
            None,
            rest_of(owner.guarantee, owner.by_type) + sum(owner.by_type.values()),
            None if owner.quota is None else owner.quota.max_gpus,
        )
        for owner in owners
    ]
    sums = [
        Extra(b.owner.pk, b.extra_guarantee + sum(b.extra_guarantee_by_type.values()), b.extra_max_gpus, *_window(b))
        for b in boosts
    ]
    yield "", _Books(in_all, sums)


def _window(boost: QuotaBoost) -> tuple[datetime, datetime]:
    """From when until when it counts; one that has begun does, whatever the clock of its maker said."""
    began = boost.starts_at if boost.began_at is None else min(boost.starts_at, boost.began_at)
    return began, boost.ends_at


def _error(found: Excess, books: _Books, *, names: dict[UUID, str], field: str, now: datetime) -> InvalidInputError:
    gpus = books.gpus if found.needed != 1 else books.gpus.replace("GPUs", "GPU", 1)
    needed = f"{found.needed} {gpus}"
    verb = "begins" if any(one.starts_at == found.at for one in books.extras) else "ends"
    at = "now" if found.at <= now else f"from {found.at:%Y-%m-%d %H:%M} UTC on, when a boost {verb}"
    if found.above is None:
        return InvalidInputError(
            f"With its boosts {names[found.owner]} would be guaranteed {needed} {at}, and may never "
            f"use more than {found.there}.",
            field=field,
            remedy=f"Guarantee fewer, or raise its {books.limit} for as long.",
        )
    return InvalidInputError(
        f"With boosts, parts of {names[found.above]} would be guaranteed {needed} {at}, and it has {found.there}.",
        field=field,
        remedy=f"Guarantee fewer, end earlier, or have the guarantee of {names[found.above]} raised for as long.",
    )
