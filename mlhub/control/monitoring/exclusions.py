# SPDX-License-Identifier: Apache-2.0
"""What the cluster's page says of nodes and GPUs that are excluded since attempts failed there."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from mlhub.control.models import NodeExclusion


def exclusions_of_nodes(*, now: datetime) -> dict[str, dict[str, Any]]:
    """By node, why it is excluded, or the GPUs that are: `gpus` is empty where it is the whole node."""
    rows = list(NodeExclusion.objects.filter(until__gt=now).order_by("since", "id"))
    gpus: defaultdict[str, list[int]] = defaultdict(list)
    for row in rows:
        if row.gpu is not None:
            gpus[row.node].append(row.gpu)
    of_gpus = {row.node: {**_shown(row), "gpus": sorted(gpus[row.node])} for row in rows if row.gpu is not None}
    return of_gpus | {row.node: {**_shown(row), "gpus": []} for row in rows if row.gpu is None}


def _shown(row: NodeExclusion) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("since", "until", "cause", "n_failures", "n_jobs", "n_times")}
