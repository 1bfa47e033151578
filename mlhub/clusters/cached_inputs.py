# SPDX-License-Identifier: Apache-2.0
"""What the caches of nodes hold, as far as is known: pods report what they found there and what they fetched.

A cache evicts what was used least recently. So a pod that had to fetch what was thought to be there shows that all that
was used before it is gone, too: it was evicted, or somebody removed the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, Sum, Window

from mlhub.clusters.models import CachedInput, CacheUse, Node
from mlhub.runtime.data.node_cache import MAX_BYTES

LEAST_BYTES = 2**20  # smaller files are fetched in no time, and not remembered
MOST_FILES = 10_000  # that are remembered of a node and a project


@dataclass(frozen=True)
class InputUse:
    """fetch_s: seconds that it took to fetch it; None: it was found."""

    sha256: str
    size_bytes: int
    fetch_s: float | None


def record_input_use(node: str, *, project: UUID, uses: Sequence[InputUse], now: datetime) -> None:
    """Counts them, and remembers what the node holds now, where it has a cache of its own. In the caller's transaction.

    uses: each file once.
    """
    fetched = [use for use in uses if use.fetch_s is not None]
    found = [use for use in uses if use.fetch_s is None]
    CacheUse.objects.bulk_create([CacheUse(node=node)], ignore_conflicts=True)
    CacheUse.objects.filter(node=node).update(
        n_found=F("n_found") + len(found),
        found_bytes=F("found_bytes") + sum(use.size_bytes for use in found),
        n_fetched=F("n_fetched") + len(fetched),
        fetched_bytes=F("fetched_bytes") + sum(use.size_bytes for use in fetched),
    )
    if not Node.objects.filter(name=node, has_own_cache=True).exists():
        return
    known = CachedInput.objects.filter(node=node, project=project)
    lost = known.filter(sha256__in=[use.sha256 for use in fetched]).order_by("-used_at").first()
    if lost is not None:
        known.filter(used_at__lte=lost.used_at).delete()
    large = [use for use in uses if use.size_bytes >= LEAST_BYTES]
    measured = dict(known.filter(sha256__in=[use.sha256 for use in large]).values_list("sha256", "fetch_s"))
    rows = [
        CachedInput(
            node_id=node,
            project_id=project,
            sha256=use.sha256,
            size_bytes=use.size_bytes,
            used_at=now,
            fetch_s=measured.get(use.sha256) if use.fetch_s is None else use.fetch_s,
        )
        for use in sorted(large, key=lambda use: use.sha256)
    ]
    CachedInput.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["node", "project", "sha256"],
        update_fields=["size_bytes", "used_at", "fetch_s"],
    )
    _forget_evicted(node, project)


def forget_cache(node: str) -> None:
    """Another machine, or another folder, is behind the node's name."""
    CachedInput.objects.filter(node=node).delete()


def _forget_evicted(node: str, project: UUID) -> None:
    """Beyond what the cache keeps of a project, the least recently used are gone."""
    known = CachedInput.objects.filter(node=node, project=project)
    if (known.aggregate(all=Sum("size_bytes"))["all"] or 0) <= MAX_BYTES and known.count() <= MOST_FILES:
        return
    newest = [F("used_at").desc(), F("id").desc()]
    summed = known.annotate(up_to=Window(Sum("size_bytes"), order_by=newest)).order_by(*newest)
    listed = list(summed.values_list("pk", "up_to"))
    gone = [pk for number, (pk, up_to) in enumerate(listed) if number >= MOST_FILES or up_to > MAX_BYTES]
    CachedInput.objects.filter(pk__in=gone).delete()
