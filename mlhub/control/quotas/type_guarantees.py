# SPDX-License-Identifier: Apache-2.0
"""Guarantees of single GPU types of organisations against what the cluster has of each type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Sum

from mlhub.clusters.models import Node
from mlhub.core.errors import InvalidInputError
from mlhub.tenants.models import Organisation, Quota, QuotaRules


def require_gpus_of_types(organisation: Organisation, by_type: Any) -> None:
    """Raises InvalidInputError where more GPUs of a type would be guaranteed than the cluster has, nodes that are away
    included; what is kept or lowered is not looked at, so that a cluster that shrank is no bar to that.
    """
    if not isinstance(by_type, Mapping):
        return  # set_quota() says what is wrong with it
    quotas: dict[Any, QuotaRules] = {quota.pk: quota for quota in Quota.objects.all()}
    own = quotas.pop(organisation.pk, None)
    there = {row["gpu_type"]: row["n"] for row in Node.objects.values("gpu_type").annotate(n=Sum("n_slots"))}
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
