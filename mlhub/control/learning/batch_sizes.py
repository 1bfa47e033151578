# SPDX-License-Identifier: Apache-2.0
"""What batches fit into the memory of GPUs, and how the gradient's noise is expected to develop, from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlhub.backends.protocol import NodeStatus
from mlhub.control.learning.learned_models import NoiseCurve
from mlhub.control.pods.pod_resources import gpu_types
from mlhub.jobs.models import Job

USABLE_GPU_MEMORY = 0.9  # of a GPU's memory: the driver and fragments take the rest


def gpu_memory_by_type(nodes: Sequence[NodeStatus]) -> dict[str, int]:
    """Of one GPU, by type: the least that a node reports; types of which nothing is known are absent."""
    found: dict[str, int] = {}
    for node in nodes:
        if node.gpu_memory_bytes:
            found[node.gpu_type] = min(node.gpu_memory_bytes, found.get(node.gpu_type, node.gpu_memory_bytes))
    return found


def max_local_batch(
    job: Job, memory_by_example: tuple[float, float] | None, gpu_memory_bytes: Mapping[str, int]
) -> int | None:
    """Examples that fit onto the smallest GPU that the job may run on; None where memory was not measured."""
    allowed = [size for kind, size in gpu_memory_bytes.items() if not gpu_types(job) or kind in gpu_types(job)]
    if memory_by_example is None or not allowed:
        return None
    fixed, each = memory_by_example
    return max(1, int((USABLE_GPU_MEMORY * min(allowed) - fixed) / each))


def noise_ahead(job: Job, curve: NoiseCurve) -> tuple[tuple[float, float], ...]:
    """In steps of the job's own batch, from where it stands on."""
    points = tuple((examples / job.batch_size, noise) for examples, noise in curve)
    return tuple(point for point in points if point[0] > job.steps_done)
