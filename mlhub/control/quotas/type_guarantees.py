# SPDX-License-Identifier: Apache-2.0
"""Guarantees of single GPU types of organisations against what the cluster has of each type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from mlhub.clusters.models import Node
from mlhub.core.errors import InvalidInputError
from mlhub.core.locks import lock_until_commit
from mlhub.tenants.actions.limits.quotas import Owner
from mlhub.tenants.models import Organisation, Quota, QuotaRules


@contextmanager
def within_cluster(owner: Owner, rules: Mapping[str, Any]) -> Iterator[None]:
    """Within the block these rules are set, by set_quota(), in one transaction. Of organisations that are guaranteed
    GPUs of types one at a time is set, so that two cannot be guaranteed the same GPUs.

    Raises InvalidInputError as _require_gpus_of_types() does. The caller has checked that the person may set them: the
    message says what others are guaranteed.
    """
    with transaction.atomic():
        by_type = rules.get("guarantee_by_type")
        if isinstance(owner, Organisation) and isinstance(
            by_type, Mapping
        ):  # set_quota() says what is wrong with others
            lock_until_commit("guarantees of GPU types")
            _require_gpus_of_types(owner, by_type)
        yield


def _require_gpus_of_types(organisation: Organisation, by_type: Mapping[str, Any]) -> None:
    """Raises InvalidInputError where more GPUs of a type would be guaranteed than the cluster has, nodes that are away
    included; what is kept or lowered is not looked at, so that a cluster that shrank is no bar to that.
    """
    quotas: dict[Any, QuotaRules] = {quota.pk: quota for quota in Quota.objects.all()}
    own = quotas.pop(organisation.pk, None)
    there = Node.objects.gpus_by_type()
    for gpu_type, n in sorted(by_type.items()):
        before = own.guarantee_by_type.get(gpu_type, 0) if own else 0
        others = sum(quota.guarantee_by_type.get(gpu_type, 0) for quota in quotas.values())
        if n <= before or n + others <= there.get(gpu_type, 0):
            continue
        if not there.get(gpu_type):
            names = ", ".join(sorted(name for name, count in there.items() if name and count))
            raise InvalidInputError(
                f"The cluster has no GPUs of type {gpu_type}, so none can be guaranteed.",
                field="guarantee_by_type",
                remedy=f"Name types that it has: {names}." if names else "Add a node with such GPUs first.",
            )
        taken = f", of which other organisations are guaranteed {others}" if others else ""
        raise InvalidInputError(
            f"The cluster has {there[gpu_type]} GPUs of type {gpu_type}{taken}; {n} are too many.",
            field="guarantee_by_type",
            remedy=f"Guarantee at most {max(0, there[gpu_type] - others)} of type {gpu_type}.",
        )
