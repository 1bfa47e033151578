# SPDX-License-Identifier: Apache-2.0
"""Whether the cluster, and the limits of a project and of what is above it, could ever give a job what it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Sum

from mlhub.clusters.models import Node
from mlhub.core.errors import InvalidInputError, QuotaExceededError
from mlhub.tenants.actions import gpu_limits_above, type_limits_above
from mlhub.tenants.actions.limits.quotas import Owner, raised_by
from mlhub.tenants.models import Project
from mlhub.wire.words import counted, figure

GIB = 2**30


def check_resources(request: dict[str, Any]) -> None:
    """Whether the cluster has GPUs of the types asked for and a node that is large enough for each pod, and n_workers
    lies within the job's bounds.

    Raises InvalidInputError.
    """
    asked = request.get("resources") or {}
    least, most = request.get("min_workers", 1), request.get("max_workers", 64)
    n_workers, types = asked.get("n_workers"), asked.get("gpu_types")
    if n_workers is not None and not least <= n_workers <= most:
        raise InvalidInputError(
            f"resources.n_workers is {n_workers}, min_workers {least} and max_workers {most}.",
            field="resources.n_workers",
            remedy="Give a number from min_workers to max_workers.",
        )
    _check_nodes(asked)
    if types is None:
        return
    there = dict(Node.objects.values_list("gpu_type").annotate(n=Sum("n_slots")).order_by("gpu_type"))
    if not there:
        return
    unknown = sorted(set(types) - set(there))
    if unknown:
        raise InvalidInputError(
            f"The cluster has no GPU of type {', '.join(unknown)}.",
            field="resources.gpu_types",
            remedy=f"Give some of: {', '.join(there)}.",
        )
    have = max(there[name] for name in types)
    if least > have:
        raise InvalidInputError(
            f"min_workers is {least}, and the cluster has {counted(have, 'GPU')} of one of these types.",
            field="resources.gpu_types",
            remedy=f"Give min_workers of at most {have}, or more types.",
        )


def _check_nodes(asked: Mapping[str, Any]) -> None:
    """Whether some node has so many CPUs and so much memory, all of its GPUs free. Raises InvalidInputError."""
    fields = [name for name in ("cpus", "memory_gib", "server_memory_gib") if name in asked]
    nodes = Node.objects.filter(n_slots__gt=0) if fields else Node.objects.none()
    if asked.get("gpu_types"):
        nodes = nodes.filter(gpu_type__in=asked["gpu_types"])
    there = [(node.cpus, node.memory_bytes / GIB) for node in nodes.only("cpus", "memory_bytes")]
    if not there:
        return
    for name in fields:
        most, unit = (max(cpus for cpus, _ in there), "CPUs") if name == "cpus" else (max(m for _, m in there), "GiB")
        if asked[name] > most:
            raise InvalidInputError(
                f"resources.{name} is {figure(asked[name])}, and the largest node has {figure(most)} {unit}.",
                field=f"resources.{name}",
                remedy=f"Give at most {figure(most)}.",
            )
    cpus, memory_gib = asked.get("cpus", 0), asked.get("memory_gib", 0)
    if not any(cpus <= has and memory_gib <= gib for has, gib in there):
        raise InvalidInputError(
            f"No node has both {figure(cpus)} CPUs and {figure(memory_gib)} GiB.",
            field="resources.memory_gib",
            remedy="Give less of one of them.",
        )


def types_of(request: Mapping[str, Any]) -> Sequence[str]:
    """Returns the GPU types that a job of this request may use; () = all."""
    return (request.get("resources") or {}).get("gpu_types") or ()


def usable_types(gpu_types: Sequence[str]) -> list[str]:
    """Returns these types, or where none is given those of the cluster."""
    return list(gpu_types) or list(Node.objects.order_by().values_list("gpu_type", flat=True).distinct())


def check_capacity(project: Project, n_gpus: int, gpu_types: Sequence[str] = ()) -> None:
    """Whether the cluster, and the limits of the project and of what is above it, could ever give so many.

    gpu_types: those that the job may use; () = all. Raises InvalidInputError, QuotaExceededError.
    """
    have = Node.objects.aggregate(n=Sum("n_slots"))["n"]
    if have is not None and n_gpus > have:
        raise InvalidInputError(
            f"min_workers is {n_gpus}, and the whole cluster has {counted(have, 'GPU')}.",
            field="min_workers",
            remedy=f"Give at most {have}.",
        )
    owner, limit = min(gpu_limits_above(project), key=lambda one: one[1], default=(project, n_gpus))
    if n_gpus > limit:
        raise QuotaExceededError(
            f"min_workers is {n_gpus}, and {owner.name} may use {counted(limit, 'GPU')}.",
            field="min_workers",
            remedy=f"Give fewer, or ask {raised_by(owner)} for a larger quota (Ask for more on the page Quotas).",
            limit="max_gpus",
            limit_gpus=limit,
            asked_gpus=n_gpus,
            owner=owner.name,
        )
    _check_types(project, n_gpus, gpu_types)


def _check_types(project: Project, n_gpus: int, gpu_types: Sequence[str]) -> None:
    """Whether limits of single types could ever give so many of one type. Raises QuotaExceededError."""
    limits = type_limits_above(project)
    if not limits:
        return
    tightest: list[tuple[int, Owner]] = []
    types = usable_types(gpu_types)
    for gpu_type in types:
        of_type = [(by_type[gpu_type], owner) for owner, by_type in limits if gpu_type in by_type]
        if not of_type:
            return
        tightest.append(min(of_type, key=lambda one: one[0]))
    most, owner = max(tightest, key=lambda one: one[0], default=(n_gpus, project))
    if n_gpus > most:
        raise QuotaExceededError(
            f"min_workers is {n_gpus}, and {owner.name} may use {counted(most, 'GPU')} of one type out of "
            f"{', '.join(types)}.",
            field="min_workers",
            remedy=f"Give fewer, allow other types, or ask {raised_by(owner)} to raise gpus_by_type of {owner.name} "
            "(Ask for more on the page Quotas).",
            limit="gpus_by_type",
            limit_gpus=most,
            asked_gpus=n_gpus,
            owner=owner.name,
        )
