# SPDX-License-Identifier: Apache-2.0
"""Reads that join jobs with the cluster: who is on which slot, and what an organisation uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import Sum
from django.utils import timezone

from mlhub.clusters.models import LinkEstimate, LinkKind, Maintenance, Node, Rack
from mlhub.clusters.sandbox_reports import sandbox_reports
from mlhub.control.fault_isolation.quarantine import quarantined_for
from mlhub.control.learning.learned_pairs import learned_slowdowns
from mlhub.control.learning.measured_links import slow_links
from mlhub.control.monitoring.exclusions import exclusions_of_nodes
from mlhub.control.monitoring.link_traffic import LinkLoad, capacities, live_traffic
from mlhub.control.monitoring.slowdowns import slowdowns_of
from mlhub.control.monitoring.status import backend_status
from mlhub.control.pods.pod_resources import pods_held
from mlhub.control.quotas.overcommitment import overcommitments
from mlhub.jobs.live import JobSlowdown
from mlhub.jobs.models import Allocation, Attempt, Job
from mlhub.jobs.states import HOLDING_GPUS, Intent
from mlhub.metrics.family_labels import family_labels
from mlhub.storage import actions as storage
from mlhub.tenants.models import Organisation, User
from mlhub.usage.checks import ledger_failing_since

OF_OTHERS: dict[str, Any] = {"id": None, "name": None, "organisation": None, "slowdown": None}
MOST_PAIRS = 100  # of jobs that slow each other, on the page


def used_by(organisation: Organisation) -> dict[str, float]:
    """GPUs held, CPUs and memory that pods request, jobs that hold GPUs and that wait, bytes stored."""
    jobs = Job.objects.filter(project__organisation=organisation, state__in=HOLDING_GPUS)
    gpus = Attempt.objects.live().filter(job__in=jobs).aggregate(n=Sum("n_workers"))["n"]
    pods = [one.resources for one in pods_held(organisation)]
    return {
        "gpus": gpus or 0,
        "cpus": sum(one.cpus for one in pods),
        "memory_bytes": sum(one.memory_bytes for one in pods),
        "running_jobs": jobs.count(),
        "waiting_jobs": Job.objects.queued().filter(project__organisation=organisation, intent=Intent.RUN).count(),
        "storage_bytes": storage.used_bytes(organisation),
    }


def cluster_as_seen_by(user: User) -> dict[str, Any]:
    """Racks, nodes and slots; a slot of another organisation's job shows that it is taken, and no more."""
    held = Allocation.objects.filter(released_at=None, attempt__ended_at=None)
    held = held.select_related("attempt__job__project__organisation").order_by("id")
    visible = set(Job.objects.visible_to(user).filter(state__in=HOLDING_GPUS).values_list("id", flat=True))
    slowdowns = slowdowns_of({allocation.attempt_id for allocation in held})
    gangs, loads = live_traffic()
    slots: defaultdict[str, defaultdict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    servers: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for allocation in held:
        job = allocation.attempt.job
        shown = _job(job, slowdowns.get(allocation.attempt_id)) if job.id in visible else OF_OTHERS
        for slot in allocation.slots:
            slots[allocation.node][slot].append(shown)
        if allocation.n_servers:
            servers[allocation.node].append({"job": shown, "n": allocation.n_servers})
    closed = {found.node: found for found in Maintenance.objects.select_related("asked_by")}
    excluded = exclusions_of_nodes(now=timezone.now())
    unschedulable = {*closed, *(name for name, found in excluded.items() if not found["gpus"])}
    racks = [
        {
            "name": rack.name,
            "uplink_bps": rack.uplink_bps,
            "nodes": [
                {
                    "maintenance": _maintenance(closed.get(node.name)),
                    "exclusion": excluded.get(node.name),
                    **_node(node, slots[node.name], servers[node.name]),
                    # the backend is observed later
                    "is_schedulable": node.is_schedulable and node.name not in unschedulable,
                }
                for node in rack.nodes.order_by("name")
            ],
        }
        for rack in Rack.objects.order_by("name").prefetch_related("nodes")
    ]
    n_gpus = Node.objects.filter(is_ready=True).aggregate(n=Sum("n_slots"))["n"] or 0
    n_held = sum(len(taken) for taken in slots.values())
    return {
        "racks": racks,
        "totals": {
            "gpus": n_gpus,
            "free_gpus": max(0, n_gpus - n_held),
            "running_jobs": Job.objects.holding_gpus().count(),
            "queued_jobs": Job.objects.queued().count(),
        },
        "backend": backend_status(user),
        "quarantined": quarantined_for(user),
        "interference": interference_as_seen_by(user),
        "links": _links(),
        "link_loads": _link_loads(loads),
        "traffic": [gang for gang in gangs if gang.job_id in visible],
        "sandbox": sandbox_reports() if user.is_staff else [],
        "ledger_failing_since": ledger_failing_since() if user.is_staff else None,
        "overcommitted": overcommitments().found if user.is_staff else (),
    }


def interference_as_seen_by(user: User) -> list[dict[str, Any]]:
    """Which jobs slow which, the strongest first: rows in which the caller may see jobs of the slowed family."""
    found = learned_slowdowns()
    labels = family_labels({f for one in found for f in (one.family, one.other_family)}, user=user)
    rows: list[dict[str, Any]] = [
        {
            "job": labels[one.family],
            "other": labels.get(one.other_family, ""),
            "resource": one.resource,
            "gpu_type": one.gpu_type,
            "slowdown": one.slowdown,
            "error": one.error,
            "n": one.n,
            "n_steps": one.n_steps,
        }
        for one in found
        if one.family in labels
    ]
    return sorted(rows, key=lambda row: (-row["slowdown"], row["job"], row["other"]))[:MOST_PAIRS]


def _links() -> list[dict[str, Any]]:
    """Links through which gangs were measured, the slow ones first."""
    declared = capacities()
    rows = LinkEstimate.objects.order_by("kind", "name")
    found = [
        {
            "kind": row.kind,
            "name": row.name,
            "declared_bps": declared[LinkKind(row.kind), row.name],
            "measured_bps": row.bps,
            "n_reports": row.n_reports,
            "at": row.at,
            "slow_since": row.slow_since,
        }
        for row in rows
        if (row.kind, row.name) in declared
    ]
    return sorted(found, key=lambda row: row["slow_since"] is None)


def _link_loads(loads: Sequence[LinkLoad]) -> list[dict[str, Any]]:
    """With the bandwidth of each link: as measured where it is slower than declared."""
    declared, slow = capacities(), slow_links()
    return [
        {**asdict(load), "capacity_bps": slow.get((load.kind, load.name), declared[load.kind, load.name])}
        for load in loads
        if (load.kind, load.name) in declared
    ]


def _job(job: Job, slowdown: JobSlowdown | None) -> dict[str, Any]:
    organisation = {"id": job.project.organisation.id, "name": job.project.organisation.name}
    return {"id": job.id, "name": job.name, "organisation": organisation, "slowdown": slowdown}


def _maintenance(closed: Maintenance | None) -> dict[str, Any] | None:
    if closed is None:
        return None
    by = closed.asked_by.username if closed.asked_by else ""
    return {"drain_by": closed.drain_by, "reason": closed.reason, "asked_by": by, "asked_at": closed.asked_at}


def _node(node: Node, taken: Mapping[int, list[dict[str, Any]]], servers: list[dict[str, Any]]) -> dict[str, Any]:
    gpus = {gpu["index"]: gpu for gpu in node.gpus}
    return {
        "name": node.name,
        "gpu_type": node.gpu_type,
        "n_slots": node.n_slots,
        "cpus": node.cpus,
        "memory_bytes": node.memory_bytes,
        "nic_bps": node.nic_bps,
        "is_ready": node.is_ready,
        "message": node.message,
        "observed_at": node.observed_at,
        "max_jobs_per_gpu": node.max_jobs_per_gpu,
        "sharing": node.sharing,
        "slots": [_slot(i, taken.get(i, []), gpus.get(i)) for i in range(node.n_slots)],
        "servers": servers,
    }


def _slot(index: int, jobs: Sequence[dict[str, Any]], gpu: dict[str, Any] | None) -> dict[str, Any]:
    """The job that came first, and those that share the slot with it; and the GPU as its driver shows it."""
    return {"index": index, "job": jobs[0] if jobs else None, "colocated": list(jobs[1:]), "gpu": gpu}
