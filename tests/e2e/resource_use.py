# SPDX-License-Identifier: Apache-2.0
"""What the pods of an attempt used over time, as the API answers it: resources, and points that name these."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from tests.e2e.scene import MINUTE_S, NOW

ABOUT = "The mean of each stretch of time, as the pod measured it."
GIB = 2**30
# (name, title, unit, (mean, swing) of worker 0)
RESOURCES: tuple[tuple[str, str, str, tuple[float, float]], ...] = (
    ("cpus", "CPUs in use", "count", (1.6, 0.3)),
    ("memory", "Memory", "bytes", (3.2 * GIB, 0.4 * GIB)),
    ("gpu", "GPU in use", "share", (0.78, 0.12)),
    ("network_sent", "Sent over the network", "bytes_per_second", (42e6, 11e6)),
)
PODS = (("worker", 0), ("worker", 1), ("server", 0))
N_POINTS = 60


def resources() -> list[dict[str, str]]:
    return [{"name": name, "title": title, "unit": unit, "about": ABOUT} for name, title, unit, _ in RESOURCES]


def pods() -> list[dict[str, Any]]:
    """Workers alike, a server without a GPU."""
    return [
        {"role": role, "index": index, "points": [_point(role, place, i) for i in range(N_POINTS)]}
        for place, (role, index) in enumerate(PODS)
    ]


def _point(role: str, place: int, i: int) -> dict[str, Any]:
    at = NOW - timedelta(seconds=93 * MINUTE_S * (N_POINTS - i) / N_POINTS)
    swing = math.sin(i / 4 + 2 * place)
    values = {
        name: round((mean + most * swing) * (1 - 0.2 * place), 3)
        for name, _, _, (mean, most) in RESOURCES
        if role == "worker" or name != "gpu"
    }
    return {"at": at.isoformat().replace("+00:00", "Z"), "values": values}
