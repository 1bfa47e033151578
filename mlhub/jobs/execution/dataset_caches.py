# SPDX-License-Identifier: Apache-2.0
"""Which nodes have a dataset's files in their caches, and how much of what jobs on it needed was there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Max, Sum

from mlhub.clusters.models import CachedInput, Node
from mlhub.datasets.models import DatasetVersion

MOST_NODES = 50  # that are listed
STARTS = """
SELECT count(*), coalesce(sum((use.value->>'inputs_bytes')::numeric), 0)::bigint,
       coalesce(sum((use.value->>'fetched_bytes')::numeric), 0)::bigint
FROM jobs_job j JOIN jobs_attempt a ON a.job_id = j.id CROSS JOIN LATERAL jsonb_each(a.inputs) use
WHERE j.dataset_version_id = %s
"""


@dataclass(frozen=True)
class CachingNode:
    name: str
    cached_bytes: int
    used_at: datetime


@dataclass(frozen=True)
class DatasetCaches:
    """nodes: those with most of it; n_nodes: all that have some. n_starts: of jobs on the version, each node of an
    attempt for itself, since pods report what they found."""

    has_node_caches: bool
    size_bytes: int
    nodes: tuple[CachingNode, ...]
    n_nodes: int
    n_starts: int
    inputs_bytes: int
    found_bytes: int


def caches_of(version: DatasetVersion) -> DatasetCaches:
    """version: with its dataset. What other projects have cached is not for the jobs of this one."""
    cached = CachedInput.objects.filter(
        project=version.dataset.project_id, sha256__in=[file["sha256"] for file in version.files]
    )
    rows = cached.values_list("node").annotate(bytes=Sum("size_bytes"), at=Max("used_at")).order_by("-bytes", "node")
    with connection.cursor() as cursor:
        cursor.execute(STARTS, [version.pk])
        n_starts, inputs_bytes, fetched_bytes = cursor.fetchone()
    return DatasetCaches(
        has_node_caches=Node.objects.filter(has_own_cache=True).exists(),
        size_bytes=version.size_bytes,
        nodes=tuple(CachingNode(*row) for row in rows[:MOST_NODES]),
        n_nodes=rows.count(),
        n_starts=n_starts,
        inputs_bytes=inputs_bytes,
        found_bytes=inputs_bytes - fetched_bytes,
    )
