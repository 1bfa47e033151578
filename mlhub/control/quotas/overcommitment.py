# SPDX-License-Identifier: Apache-2.0
"""Guarantees of organisations in sum against the GPUs that the cluster has: what it could not honour for all at once.

Such guarantees are accepted and shown, not refused: nodes come and go, and those of single types are measured when they
are set, but not when a node leaves for good.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from mlhub.clusters.models import Node
from mlhub.control.quotas.boosts import extras_now
from mlhub.tenants.models import Organisation, Project, Quota, Team, User
from mlhub.tenants.quota_terms.boosts import BoostAmounts, raised_guarantees

ANY = ""  # the sum, of any type
OVERCOMMITTED = (
    "Where this guarantee and those of other organisations are more in sum than the cluster has, of any type and of "
    "single types; empty: the cluster can honour all of them. Of organisations only: what is below one is a part of "
    "its guarantee."
)


@dataclass(frozen=True)
class Overcommitment:
    """gpu_type: "" = of any type. guaranteed: to all organisations in sum, boosts included; None = who asks may not
    know what others are guaranteed. gpus: that the cluster has, on nodes that are away or closed, too.
    """

    gpu_type: str
    guaranteed: int | None
    gpus: int


@dataclass(frozen=True)
class Overcommitments:
    """What the cluster cannot honour, of any type first; and who is guaranteed some of it."""

    found: tuple[Overcommitment, ...]
    by_organisation: dict[UUID, Counter[str]]

    def of(self, organisation: Organisation, *, user: User) -> list[Overcommitment]:
        """Those of which the organisation is guaranteed a part. Only administrators of the platform learn the sum."""
        own = self.by_organisation.get(organisation.pk, Counter())
        parts = [one for one in self.found if own[one.gpu_type]]
        return parts if user.is_staff else [replace(one, guaranteed=None) for one in parts]


def overcommitments(at: datetime | None = None) -> Overcommitments:
    """What all organisations are guaranteed at a moment, None = now, against the cluster. Three queries."""
    return _compared(_guarantees(at), Node.objects.gpus_by_type())


def overcommitments_of(
    owner: Organisation | Team | Project, *, user: User, at: datetime | None = None
) -> list[Overcommitment]:
    """What an organisation is guaranteed a part of; none of a team or a project, whose guarantees are parts.

    at: the moment; what is over or None counts as now.
    """
    return overcommitments(at).of(owner, user=user) if isinstance(owner, Organisation) else []


def overcommitments_if(
    supposed: Mapping[UUID, Counter[str]], *, gpus_by_type: Mapping[str, int], user: User
) -> list[Overcommitment]:
    """What the cluster could not honour if these organisations were guaranteed so much, and it had these GPUs.

    supposed: of organisations that the user may see, as guaranteed_in() counts. Those who are no administrators of the
    platform learn of their own guarantees alone: by questions with one number after the other they would find out what
    others are guaranteed.
    """
    if user.is_staff:
        return list(_compared(_guarantees() | dict(supposed), gpus_by_type).found)
    alone = {one for own in supposed.values() for one in _compared({UUID(int=0): own}, gpus_by_type).found}
    return sorted((replace(one, guaranteed=None) for one in alone), key=lambda one: one.gpu_type)


def guaranteed_in(guarantee: int | None, by_type: Mapping[str, int]) -> Counter[str]:
    """GPUs by type of a guarantee, and in sum as of type ANY. by_type: those of single types, which are part of it."""
    of_types = Counter({str(gpu_type): int(n) for gpu_type, n in by_type.items()})
    return of_types + Counter({ANY: max(guarantee or 0, of_types.total())})


def _compared(by_organisation: dict[UUID, Counter[str]], there: Mapping[str, int]) -> Overcommitments:
    total: Counter[str] = Counter()
    for one in by_organisation.values():
        total.update(one)
    has = {**there, ANY: sum(there.values())}
    found = tuple(Overcommitment(t, total[t], has.get(t, 0)) for t in sorted(total) if total[t] > has.get(t, 0))
    return Overcommitments(found, by_organisation)


def _guarantees(at: datetime | None = None) -> dict[UUID, Counter[str]]:
    """By organisation, GPUs guaranteed by type, and in sum as of type ANY. What is below one is a part of its own."""
    rules = {quota.pk: quota for quota in Quota.objects.all()}
    ids = set(Organisation.objects.values_list("id", flat=True))
    now = timezone.now()
    extras, found = extras_now(ids, now=now if at is None else max(at, now)), {}
    for pk in ids & {*rules, *extras}:
        quota = rules.get(pk)
        guarantee, by_type = (None, {}) if quota is None else (quota.guarantee, quota.guarantee_by_type)
        guarantee, by_type = raised_guarantees(guarantee, by_type, extras.get(pk, BoostAmounts()))
        found[pk] = guaranteed_in(guarantee, by_type)
    return found
