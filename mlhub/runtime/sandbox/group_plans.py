# SPDX-License-Identifier: Apache-2.0
"""Control groups of pods, as data: the pod's shim, which outlives the platform and imports nothing, makes the group."""

from __future__ import annotations

from typing import Any

from mlhub.runtime.sandbox import cgroups

N_PROCESSES = 16_384
LEAST_CPUS = 0.1


def planned_group(name: str, *, memory_bytes: int, n_cpus: float) -> dict[str, Any] | None:
    """The group of a pod below the same parents as those of other sandboxes; None where no group can be had.

    Returns {"name", "folders": [{"path", "files": {name: value}}], "memory_events", "pids_events"}: what to make, what
    to write into each folder before the pod joins it, and where the kernel counts what it ended and refused.
    """
    group = cgroups.below_parents(name)
    if group is None:
        return None
    limits = group.limits(memory_bytes=memory_bytes, n_processes=N_PROCESSES, n_cpus=max(n_cpus, LEAST_CPUS))
    files: dict[str, dict[str, str]] = {}
    for controller, folder in group.folders.items():
        files.setdefault(str(folder), {}).update(limits[controller])
    memory, pids = group.folders.get("memory"), group.folders.get("pids")
    return {
        "name": name,
        "folders": [{"path": path, "files": values} for path, values in files.items()],
        "memory_events": str(memory / group.memory_events) if memory else "",
        "pids_events": str(pids / "pids.events") if pids else "",
    }
