# SPDX-License-Identifier: Apache-2.0
"""Quotas as the scheduler sees them: organisations, teams and projects as a tree of tenants, and its books now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import Sum
from django.utils import timezone

from mlhub.backends.protocol import ItemKind
from mlhub.clusters.models import Node
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.control.models import SchedulerSettings
from mlhub.control.pods.pod_resources import pods_held
from mlhub.control.quotas.boosts import Boosts, boosts_of, extras_now
from mlhub.control.quotas.budgets import BudgetBooks, as_rows
from mlhub.control.quotas.type_guarantees import type_books
from mlhub.control.quotas.user_limits import UserLimitBooks
from mlhub.jobs.models import Allocation, Attempt, Job
from mlhub.jobs.states import HOLDING_GPUS, Intent, JobState
from mlhub.storage.actions import used_bytes_within
from mlhub.tenants.actions.limits.quotas import LIMITS_BY_TYPE, Owner
from mlhub.tenants.models import Organisation, Project, QuotaRules, Team, UserQuota
from mlhub.tenants.quota_terms.boosts import BoostAmounts, raised, raised_guarantees, raised_types
from mlhub.tenants.team_tree import TeamTree
from scheduler.api.gpu_budgets import QuotaChange
from scheduler.api.snapshot import Reclaim, TenantSnapshot
from scheduler.quota.borrowing import Account, BorrowingLedger
from scheduler.quota.type_guarantees import borrowing_ledger

PLATFORM = "platform"  # a tenant above all organisations, where these share fairly


@dataclass
class QuotaTree:
    """tenants: parents before children. tenant_of: whose quota a project's jobs count against first.

    fair: those whose parts share fairly. ids: of all tenants. limited: organisations with users who have limits there.
    coming: what boosts that begin or end later change.
    """

    tenants: list[TenantSnapshot] = field(default_factory=list)
    tenant_of: dict[UUID, str] = field(default_factory=dict)
    fair: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    limited: set[tuple[UUID, UUID]] = field(default_factory=set)
    coming: tuple[QuotaChange, ...] = ()

    def user_of(self, job: Job) -> str:
        """Returns whose job it is, where limits of that user count for it; else "" """
        key = (job.project.organisation_id, job.created_by_id)
        return str(job.created_by_id) if key in self.limited else ""

    def add(self, tenant: TenantSnapshot) -> None:
        self.tenants.append(tenant)
        self.ids.add(tenant.id)
        if tenant.shares_fairly:
            self.fair.add(tenant.id)


def with_boosts(
    owner: Owner, rules: Mapping[str, Any], *, now: datetime, more: BoostAmounts | None = None
) -> dict[str, Any]:
    """The rules as the scheduler would see them now, with what the owner's boosts add. more: as of one more boost."""
    organisation = owner if isinstance(owner, Organisation) else owner.organisation
    extras = extras_now({organisation.pk}, now=now).get(owner.pk, BoostAmounts())
    quota: QuotaRules | None = getattr(owner, "quota", None)
    boosted: dict[str, Any] = {
        "guarantee": None if quota is None else quota.guarantee,
        "guarantee_by_type": {} if quota is None else quota.guarantee_by_type,
        "max_gpus": None if quota is None else quota.max_gpus,
        "gpus_by_type": {} if quota is None else quota.gpus_by_type,
    }
    found = dict(rules)
    if more:
        extras += more
        found = {**boosted, **found}
    if "max_gpus" in found:
        found["max_gpus"] = raised(found["max_gpus"], extras.max_gpus, absent=None)
    if "guarantee" in found or "guarantee_by_type" in found:
        whole = {**boosted, **found}
        guarantee, of_types = raised_guarantees(whole["guarantee"], whole["guarantee_by_type"], extras)
        found |= {"guarantee": guarantee, "guarantee_by_type": type_limits(of_types)}
    if "gpus_by_type" in found:
        found["gpus_by_type"] = type_limits(raised_types(found["gpus_by_type"], extras.by_type))
    limits = {name: type_limits(found[name]) for name in LIMITS_BY_TYPE if name in found}
    return found | limits


@dataclass(frozen=True)
class BudgetsAndBoosts:
    """What counts besides the rules. extras: by owner, GPUs that its boosts add to its guarantee and to its limits.

    boosted: owners with boosts, also to come. users: limits of users, of those who have jobs.
    """

    budgets: BudgetBooks
    extras: Mapping[UUID, BoostAmounts]
    boosted: Collection[UUID]
    users: UserLimitBooks

    def makes_tenant(self, owner: UUID) -> bool:
        """Returns whether an owner without a quota needs an account of its own."""
        return owner in self.boosted or owner in self.users.owners


def tree_of(
    organisations: Collection[UUID],
    *,
    now: datetime,
    budgets_of: Collection[UUID] | None = None,
    whole: bool = False,
    users: Collection[tuple[UUID, UUID]] = (),
    supposed: Sequence[UserQuota] = (),
    isolation: FaultIsolation | None = None,
) -> QuotaTree:
    """Teams and projects are tenants of their own where they have a quota, or where those above them share fairly; else
    their jobs count above.

    whole: all of them are. users: with jobs, as (organisation, user): limits of these count; supposed: limits of users
    as if they were stored. budgets_of: organisations whose budgets count; None = of all. isolation: gets owners whose
    quota cannot be read; they and all below them are left out. Six queries; where budgets are set, one for each
    organisation and period more, and two for what runs; where users have limits, one for their names.
    """
    isolation = FaultIsolation() if isolation is None else isolation
    rows = Organisation.objects.filter(id__in=organisations).select_related("quota").order_by("id")
    teams = Team.objects.filter(organisation__in=organisations).select_related("quota")
    projects = Project.objects.filter(organisation__in=organisations).select_related("quota").order_by("id")
    budgets = BudgetBooks(now, frozenset(organisations if budgets_of is None else budgets_of))
    limits = UserLimitBooks.read(organisations, users, budgets, supposed=supposed)
    boosts = Boosts.read(organisations, now=now)
    books = BudgetsAndBoosts(budgets, boosts.at(now), boosts.owners, limits)
    tree = _tree_above(rows, isolation, books)
    tree.limited = limits.limited
    owners: dict[UUID, str | None] = {}
    for team in _in_order(teams):
        above = owners.get(team.parent_id) if team.parent_id else str(team.organisation_id)
        owners[team.id] = _place(tree, team, above, books, whole=whole, isolation=isolation)
    for project in projects:
        above = owners.get(project.team_id) if project.team_id else str(project.organisation_id)
        tenant = _place(tree, project, above, books, whole=whole, isolation=isolation)
        if tenant is not None:
            tree.tenant_of[project.id] = tenant
    tree.coming = tuple(change for change in boosts.changes() if change.tenant in tree.ids)
    return tree


def _in_order(teams: Iterable[Team]) -> list[Team]:
    """Parents before children, siblings by id: equal trees make equal snapshots."""
    by_id = {team.pk: team for team in sorted(teams, key=lambda team: team.pk)}
    return [by_id[pk] for pk in TeamTree({team.pk: team.parent_id for team in by_id.values()}).in_order()]


def _tree_above(organisations: Iterable[Organisation], isolation: FaultIsolation, books: BudgetsAndBoosts) -> QuotaTree:
    tree, parent = QuotaTree(), None
    chosen = SchedulerSettings.objects.filter(pk=1, shares_fairly=True).first()
    if chosen is not None:
        parent = PLATFORM
        tree.add(TenantSnapshot(PLATFORM, "the platform", shares_fairly=True, half_life_s=chosen.half_life_s))
    for organisation in organisations:
        _add(tree, organisation, parent, isolation, books)
    return tree


def _add(tree: QuotaTree, owner: Owner, parent: str | None, isolation: FaultIsolation, books: BudgetsAndBoosts) -> bool:
    """Returns whether its quota could be read."""
    tenant = isolation.attempt(
        partial(_tenant, owner, parent, books), kind=ItemKind.QUOTA, name=str(owner.id), default=None
    )
    if tenant is None:
        return False
    tree.add(tenant)
    return True


def _place(
    tree: QuotaTree,
    owner: Team | Project,
    above: str | None,
    books: BudgetsAndBoosts,
    *,
    whole: bool,
    isolation: FaultIsolation,
) -> str | None:
    """Returns the tenant under whose name it is listed: its own, or the one above; None where that cannot be read."""
    if above is None or above not in tree.ids:
        return None
    if not (whole or above in tree.fair or books.makes_tenant(owner.id)) and getattr(owner, "quota", None) is None:
        return above
    return str(owner.id) if _add(tree, owner, above, isolation, books) else None


def _tenant(owner: Owner, parent: str | None, books: BudgetsAndBoosts) -> TenantSnapshot:
    quota: QuotaRules | None = getattr(owner, "quota", None)
    extras = books.extras.get(owner.id, BoostAmounts())
    limits = books.users.limits_of(owner)
    if quota is None:
        guarantee, of_types = raised_guarantees(None, {}, extras)
        return TenantSnapshot(
            str(owner.id),
            owner.name,
            parent=parent,
            guarantee=guarantee,
            guarantee_by_type=type_limits(of_types),
            user_limits=limits,
        )
    guarantee, of_types = raised_guarantees(quota.guarantee, quota.guarantee_by_type, extras)
    return TenantSnapshot(
        id=str(owner.id),
        name=owner.name,
        parent=parent,
        max_gpus=raised(quota.max_gpus, extras.max_gpus, absent=None),
        max_running_jobs=quota.max_running_jobs,
        weight=quota.weight,
        guarantee=guarantee,
        guarantee_by_type=type_limits(of_types),
        borrow_limit=quota.borrow_limit,
        lend_limit=quota.lend_limit,
        borrow_limit_by_type=type_limits(quota.borrow_limit_by_type),
        lend_limit_by_type=type_limits(quota.lend_limit_by_type),
        reclaim=Reclaim(quota.reclaim),
        shares_fairly=quota.shares_fairly,
        half_life_s=quota.half_life_s,
        budgets=books.budgets.budgets_of(owner, quota.budgets),
        user_limits=limits,
        gpus_by_type=type_limits(raised_types(quota.gpus_by_type, extras.by_type)),
        max_cpus=quota.max_cpus,
        max_memory_bytes=quota.max_memory_bytes,
    )


def type_limits(by_type: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Returns limits of single GPU types as the scheduler has them."""
    return tuple(sorted((str(gpu_type), int(most)) for gpu_type, most in by_type.items()))


def books(tree: QuotaTree) -> BorrowingLedger:
    """What every owner uses, borrows and lends now, teams and projects without a quota included. tree: the whole."""
    n_by_type = Node.objects.gpus_by_type()
    borrowing = borrowing_ledger(tree.tenants, n_gpus=sum(n_by_type.values()), n_by_type=n_by_type)
    live = Attempt.objects.live().filter(job__state__in=HOLDING_GPUS)
    if not borrowing.types:
        for row in live.values("job__project").annotate(n=Sum("n_workers")):
            borrowing.reserve(tree.tenant_of[row["job__project"]], row["n"])
        return borrowing
    types = dict(Node.objects.values_list("name", "gpu_type"))
    held = Allocation.objects.filter(attempt__in=live, released_at=None)
    for project, node, slots in held.values_list("attempt__job__project", "node", "slots"):
        borrowing.reserve(tree.tenant_of[project], len(slots), gpu_type=types.get(node, ""))
    return borrowing


@dataclass
class ProjectJobs:
    """Jobs of a project. queued_gpus: what waiting ones need at least. used_by_type: GPUs held, by type. used_cpus,
    used_memory_bytes: what pods request.
    """

    running_jobs: int = 0
    waiting_jobs: int = 0
    queued_gpus: int = 0
    used_by_type: Counter[str] = field(default_factory=Counter)
    used_cpus: float = 0.0
    used_memory_bytes: int = 0


def quota_tree(organisation: Organisation) -> list[dict[str, Any]]:
    """The organisation, its teams and its projects: rules, accounts, running and waiting jobs.

    Each owner stands before all that is below it; a team's own projects before the teams below it.
    """
    everyone = set(Organisation.objects.values_list("id", flat=True))
    tree = tree_of(everyone, now=timezone.now(), budgets_of={organisation.id}, whole=True)
    borrowing, tenants = books(tree), {tenant.id: tenant for tenant in tree.tenants}
    accounts, by_type = borrowing.accounts(), borrowing.accounts_by_type()
    teams = {team.pk: team for team in organisation.teams.select_related("quota").order_by("name")}
    below = TeamTree({team.pk: team.parent_id for team in teams.values()})
    projects = list(organisation.projects.select_related("quota").order_by("name"))
    jobs = _jobs_by_project(organisation)
    by_team: defaultdict[UUID | None, list[Project]] = defaultdict(list)
    for project in projects:
        by_team[project.team_id].append(project)
    rows = [_row("organisation", organisation, None, accounts, _sum(jobs, projects))]
    for team in map(teams.__getitem__, below.in_order()):
        within = [project for pk in below.below(team.pk) for project in by_team[pk]]
        rows.append(_row("team", team, team.parent_id or organisation.pk, accounts, _sum(jobs, within)))
        rows += [_row("project", p, team.id, accounts, _sum(jobs, [p])) for p in by_team[team.id]]
    rows += [_row("project", p, organisation.id, accounts, _sum(jobs, [p])) for p in by_team[None]]
    boosts, to_come = boosts_of(organisation, now=timezone.now())
    stored = _stored([organisation, *teams.values(), *projects])
    return [
        {
            **row,
            "books_by_type": type_books(tenants[str(row["id"])], by_type),
            "budgets": as_rows(tenants[str(row["id"])].budgets),
            "boosts": boosts[row["id"]],
            "boosts_to_come": to_come[row["id"]],
            "storage_bytes": stored.get(row["id"]),
        }
        for row in rows
    ]


def _stored(owners: Iterable[Owner]) -> dict[UUID, int]:
    """Bytes stored by owner, where they are limited. Two queries for each of these."""
    return {
        owner.pk: used_bytes_within(owner)
        for owner in owners
        if (quota := getattr(owner, "quota", None)) is not None and quota.max_storage_bytes is not None
    }


_RULES = (
    "max_gpus", "max_cpus", "max_memory_bytes", "max_running_jobs", "max_waiting_jobs", "max_storage_bytes",
    "guarantee", "borrow_limit", "lend_limit", "max_priority",
)  # fmt: skip


def _row(
    kind: str,
    owner: Owner,
    parent: UUID | None,
    accounts: Mapping[str, Account],
    jobs: Mapping[str, Any],
) -> dict[str, Any]:
    quota: QuotaRules | None = getattr(owner, "quota", None)
    account = accounts[str(owner.id)]
    rules: dict[str, Any] = {name: getattr(quota, name, None) for name in _RULES}
    return {
        "kind": kind,
        "id": owner.id,
        "name": owner.name,
        "above": parent,
        **rules,
        "gpus_by_type": quota.gpus_by_type if quota else {},
        "guarantee_by_type": quota.guarantee_by_type if quota else {},
        "borrow_limit_by_type": quota.borrow_limit_by_type if quota else {},
        "lend_limit_by_type": quota.lend_limit_by_type if quota else {},
        "reclaim": quota.reclaim if quota else Reclaim.ANY,
        "weight": quota.weight if quota else 1.0,
        "shares_fairly": quota.shares_fairly if quota else False,
        "half_life_s": quota.half_life_s if quota else 0.0,
        "version": quota.version if quota else 1,
        "guaranteed": account.guarantee,
        "used": account.used,
        "borrowed": account.borrowed,
        "lent": account.lent,
        **jobs,
    }


def _jobs_by_project(organisation: Organisation) -> dict[UUID, ProjectJobs]:
    """What jobs hold and wait for, by project. Two queries; two more where jobs hold GPUs."""
    found: defaultdict[UUID, ProjectJobs] = defaultdict(ProjectJobs)
    wanted = Job.objects.filter(project__organisation=organisation, state__in=[JobState.QUEUED, *HOLDING_GPUS])
    for project, state, intent, least in wanted.values_list("project", "state", "intent", "min_workers"):
        if state == JobState.QUEUED:
            found[project].queued_gpus += least
            found[project].waiting_jobs += intent == Intent.RUN
        else:
            found[project].running_jobs += 1
    pods = pods_held(organisation)
    types = dict(Node.objects.values_list("name", "gpu_type")) if pods else {}
    for one in pods:
        jobs = found[one.project]
        jobs.used_by_type[types.get(one.node, "")] += one.resources.gpus
        jobs.used_cpus += one.resources.cpus
        jobs.used_memory_bytes += one.resources.memory_bytes
    return found


def _sum(jobs: Mapping[UUID, ProjectJobs], projects: Iterable[Project]) -> dict[str, Any]:
    total = ProjectJobs()
    for one in (jobs[p.id] for p in projects if p.id in jobs):
        total.running_jobs += one.running_jobs
        total.waiting_jobs += one.waiting_jobs
        total.queued_gpus += one.queued_gpus
        total.used_by_type.update(one.used_by_type)
        total.used_cpus += one.used_cpus
        total.used_memory_bytes += one.used_memory_bytes
    return {**vars(total), "used_by_type": {t: n for t, n in sorted(total.used_by_type.items()) if n}}
