# SPDX-License-Identifier: Apache-2.0
"""Limits of users as the scheduler sees them, and what users have of them now, for pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mlhub.clusters.models import Node
from mlhub.control.pods.pod_resources import HeldPods, held_by
from mlhub.control.quotas.budgets import BudgetBooks, as_rows
from mlhub.jobs.models import Job
from mlhub.jobs.states import HOLDING_GPUS, Intent, JobState
from mlhub.storage.actions import used_bytes_of_user
from mlhub.tenants.actions.limits.quotas import Owner, within
from mlhub.tenants.models import Organisation, Project, Team, User, UserQuota
from mlhub.tenants.quota_terms.user_quotas import UserQuotaIndex, user_quotas_of
from scheduler.api.user_limits import UserLimit


@dataclass(frozen=True)
class UserLimitBooks:
    """Knows the limits of users who have jobs. names: of these users. limited: (organisation, user) that have any."""

    quotas: UserQuotaIndex
    users: Collection[tuple[UUID, UUID]]
    names: dict[UUID, str]
    budgets: BudgetBooks

    @classmethod
    def read(
        cls,
        organisations: Collection[UUID],
        users: Collection[tuple[UUID, UUID]],
        budgets: BudgetBooks,
        *,
        supposed: Sequence[UserQuota] = (),
    ) -> UserLimitBooks:
        """Reads them: one query, and one for names where there are limits. users: as (organisation, user). supposed:
        limits that count as if they were stored."""
        quotas = user_quotas_of(organisations).with_rows(supposed) if users else UserQuotaIndex({})
        limiting = {row.organisation_id for row in quotas.rows.values()}
        relevant = sorted((each for each in users if each[0] in limiting), key=str)
        found = User.objects.filter(pk__in={user for _, user in relevant}).values_list("id", "username")
        return cls(quotas, relevant, dict(found) if relevant else {}, budgets)

    @property
    def owners(self) -> set[UUID]:
        """Returns the ids of organisations, teams and projects that limit users."""
        return self.quotas.owners if self.users else set()

    @property
    def limited(self) -> set[tuple[UUID, UUID]]:
        """Returns the users, each with an organisation, for whom it or a part of it has limits."""
        by_organisation: defaultdict[UUID, set[UUID]] = defaultdict(set)
        for (owner, _), row in self.quotas.rows.items():
            by_organisation[row.organisation_id].add(owner)
        return {
            (organisation, user)
            for organisation, user in self.users
            if any(self.quotas.of(owner, user) is not None for owner in by_organisation[organisation])
        }

    def limits_of(self, owner: Owner) -> tuple[UserLimit, ...]:
        """Returns the owner's limits of each user who has jobs in its organisation."""
        if owner.pk not in self.owners:
            return ()
        organisation = owner.pk if isinstance(owner, Organisation) else owner.organisation_id
        found = []
        for of, user in self.users:
            row = self.quotas.of(owner.pk, user) if of == organisation else None
            if row is not None:
                found.append(
                    UserLimit(
                        user=str(user),
                        name=self.names.get(user, ""),
                        max_gpus=row.max_gpus,
                        gpus_by_type=tuple(sorted((str(t), int(n)) for t, n in row.gpus_by_type.items())),
                        max_running_jobs=row.max_running_jobs,
                        budgets=self.budgets.budgets_of(owner, row.budgets, user=user),
                        max_cpus=row.max_cpus,
                        max_memory_bytes=row.max_memory_bytes,
                    )
                )
        return tuple(found)


def use_of(owner: Owner, user: User, row: UserQuota, *, now: datetime) -> dict[str, Any]:
    """What the user has of the owner now, next to the limits that hold."""
    organisation = owner if isinstance(owner, Organisation) else owner.organisation
    pods = held_by({"created_by": user, **within(owner)})
    gpus = _gpus_by_type(pods)
    jobs = Job.objects.filter(created_by=user, **within(owner))
    budgets = BudgetBooks(now, frozenset({organisation.pk})).budgets_of(owner, row.budgets, user=user.pk)
    return {
        "gpus": sum(gpus.values()),
        "gpus_by_type": dict(gpus),
        "cpus": sum(one.resources.cpus for one in pods),
        "memory_bytes": sum(one.resources.memory_bytes for one in pods),
        "running_jobs": jobs.filter(state__in=HOLDING_GPUS).count(),
        "waiting_jobs": jobs.filter(state=JobState.QUEUED, intent=Intent.RUN).count(),
        "storage_bytes": used_bytes_of_user(organisation, user) if isinstance(owner, Organisation) else None,
        "budgets": as_rows(budgets),
    }


def limits_in(organisations: Iterable[Organisation], user: User) -> list[tuple[Owner, UserQuota]]:
    """Returns what limits the user in these organisations, their teams and projects: each owner with its limits."""
    found: list[tuple[Owner, UserQuota]] = []
    by_id = {organisation.pk: organisation for organisation in organisations}
    quotas = user_quotas_of(list(by_id))
    owners: Sequence[Owner] = [
        *by_id.values(),
        *Team.objects.filter(pk__in=quotas.owners).select_related("organisation").order_by("name"),
        *Project.objects.filter(pk__in=quotas.owners).select_related("organisation").order_by("name"),
    ]
    for owner in owners:
        row = quotas.of(owner.pk, user.pk)
        if row is not None:
            found.append((owner, row))
    return found


def _gpus_by_type(pods: Iterable[HeldPods]) -> dict[str, int]:
    types = dict(Node.objects.values_list("name", "gpu_type"))
    found: defaultdict[str, int] = defaultdict(int)
    for one in pods:
        found[types.get(one.node, "")] += one.resources.gpus
    return dict(found)
