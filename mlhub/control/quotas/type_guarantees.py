# SPDX-License-Identifier: Apache-2.0
"""Rules of single GPU types against what the cluster has of each type: guarantees of organisations, and the names that
limits of borrowing and lending may have; and the books of types of an owner.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from mlhub.clusters.models import Node
from mlhub.core.errors import InvalidInputError
from mlhub.core.locks import lock_until_commit
from mlhub.tenants.actions.limits.quotas import LIMITS_BY_TYPE, Owner
from mlhub.tenants.models import Organisation, Quota, QuotaBoost, QuotaRules
from mlhub.tenants.quota_terms.boosts import moments
from mlhub.wire.words import counted, too_many
from scheduler.api.snapshot import TenantSnapshot
from scheduler.quota.borrowing import Account


@contextmanager
def within_cluster(owner: Owner, by_type: Any, *, field: str = "guarantee_by_type") -> Iterator[None]:
    """Within the block the guarantees of types are set or raised, in one transaction that an excess undoes. Of
    organisations that are guaranteed GPUs of types one at a time is changed, so that two cannot be guaranteed the same.

    by_type: as they were given, under the field; others than organisations are measured by what is above them. Raises
    InvalidInputError where at any moment more GPUs of a type would be guaranteed than the cluster has, nodes that are
    away and boosts, also to come, included; what is kept or lowered is not looked at, so that a cluster that shrank is
    no bar to that. The caller has checked that the person may set them: the message says what others are guaranteed.
    """
    with transaction.atomic():
        if not by_type or not isinstance(owner, Organisation):
            yield
            return
        lock_until_commit("guarantees of GPU types")
        before = _Guaranteed.read()
        yield
        _require_gpus_of_types(owner, before, field=field)


def require_types_there(by_type: Any, *, field: str) -> None:
    """Raises InvalidInputError for a type that the cluster has no GPUs of, with the names of those that it has."""
    if isinstance(by_type, dict):
        there = Node.objects.gpus_by_type()
        for gpu_type in sorted(by_type):
            if by_type[gpu_type] and not there.get(gpu_type):
                raise _no_such_type(gpu_type, there, field)


def require_limited_types_there(owner: Owner, rules: Mapping[str, Any]) -> None:
    """Raises InvalidInputError where a limit of borrowing or lending names a type that the cluster has no GPUs of: by a
    typing error, nothing would be limited. Limits that the owner has already may stay and be changed.
    """
    quota: QuotaRules | None = getattr(owner, "quota", None)
    for field, verb in zip(LIMITS_BY_TYPE, ("borrowed", "lent"), strict=True):
        known = {} if quota is None else getattr(quota, field)
        new = sorted(gpu_type for gpu_type in rules.get(field) or {} if gpu_type not in known)
        there = Node.objects.gpus_by_type() if new else {}
        for gpu_type in new:
            if not there.get(gpu_type):
                raise _no_such_type(gpu_type, there, field, verb=verb)


def type_books(owner: TenantSnapshot, by_type: Mapping[str, Mapping[str, Account]]) -> dict[str, dict[str, int]]:
    """Returns the books of types of which it is guaranteed any, borrows what others are, or may borrow only so many."""
    found = {}
    for gpu_type, accounts in by_type.items():
        account = accounts[owner.id]
        is_guaranteed = any(one.guarantee for one in accounts.values())
        is_limited = any(gpu_type == name for name, _ in owner.borrow_limit_by_type)
        if account.guarantee or is_limited or (account.borrowed and is_guaranteed):
            found[gpu_type] = {
                "guaranteed": account.guarantee,
                "used": account.used,
                "borrowed": account.borrowed,
                "lent": account.lent,
            }
    return found


def _require_gpus_of_types(organisation: Organisation, before: _Guaranteed, *, field: str) -> None:
    """before: what was guaranteed."""
    there, after = Node.objects.gpus_by_type(), _Guaranteed.read()
    for at in moments(((boost.starts_at, boost.ends_at) for boost in after.boosts), now=after.now):
        had = before.at(at)[organisation.pk]
        _require_gpus_at(after.at(at), there, organisation, had, field=field, since=None if at == after.now else at)


def _require_gpus_at(
    guaranteed: dict[UUID, Counter[str]],
    there: dict[str, int],
    organisation: Organisation,
    before: Counter[str],
    *,
    field: str,
    since: datetime | None,
) -> None:
    """since: from which moment on; None = now."""
    own = guaranteed.pop(organisation.pk, Counter())
    for gpu_type, n in sorted(own.items()):
        others = sum(by_type[gpu_type] for by_type in guaranteed.values())
        if n <= before[gpu_type] or n + others <= there.get(gpu_type, 0):
            continue
        if not there.get(gpu_type):
            raise _no_such_type(gpu_type, there, field)
        has = counted(there[gpu_type], "GPU")
        left, is_extra = max(0, there[gpu_type] - others), field != "guarantee_by_type"
        most = f"Add at most {max(0, left - before[gpu_type])}" if is_extra else f"Guarantee at most {left}"
        remedy = f"{most} of type {gpu_type}."
        if since is not None:
            time = f"{since:%Y-%m-%d %H:%M}"
            raise InvalidInputError(
                f"From {time} UTC on other organisations are guaranteed {others} of the {has} of type {gpu_type} that"
                f" the cluster has; {too_many(n)}."
                if others
                else f"The cluster has {has} of type {gpu_type}; from {time} UTC on {too_many(n)}.",
                field=field,
                remedy=remedy,
            )
        raise InvalidInputError(
            f"The cluster has {has} of type {gpu_type}, of which other organisations are guaranteed {others};"
            f" {too_many(n)}."
            if others
            else f"The cluster has {has} of type {gpu_type}; {too_many(n)}.",
            field=field,
            remedy=remedy,
        )


@dataclass(frozen=True)
class _Guaranteed:
    """What organisations are guaranteed by type: by their rules, and by their boosts, in effect and to come."""

    now: datetime
    by_rules: Mapping[UUID, Mapping[str, int]]
    boosts: tuple[QuotaBoost, ...]

    @classmethod
    def read(cls) -> _Guaranteed:
        """Two queries."""
        now = timezone.now()
        rules = {quota.pk: quota.guarantee_by_type for quota in Quota.objects.exclude(guarantee_by_type={})}
        boosts = QuotaBoost.objects.not_ended(now).filter(team=None, project=None)
        return cls(now, rules, tuple(boosts.exclude(extra_guarantee_by_type={})))

    def at(self, moment: datetime) -> defaultdict[UUID, Counter[str]]:
        """Returns GPUs by type and organisation at a moment that is not over."""
        found: defaultdict[UUID, Counter[str]] = defaultdict(Counter)
        for organisation, by_type in self.by_rules.items():
            found[organisation].update(by_type)
        for boost in self.boosts:
            if boost.counts(moment):
                found[boost.organisation_id].update(boost.extra_guarantee_by_type)
        return found


def _no_such_type(gpu_type: str, there: dict[str, int], field: str, *, verb: str = "guaranteed") -> InvalidInputError:
    names = ", ".join(sorted(name for name, count in there.items() if name and count))
    return InvalidInputError(
        f"The cluster has no GPUs of type {gpu_type}, so none can be {verb}.",
        field=field,
        remedy=f"Name types that it has: {names}." if names else "Add a node with such GPUs first.",
    )
