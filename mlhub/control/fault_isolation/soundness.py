# SPDX-License-Identifier: Apache-2.0
"""Checks what a round is about to decide on: one value of a wrong type or size would fail the decision on all jobs."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from mlhub.backends.protocol import GpuStatus, NodeStatus
from scheduler.api.sharing_measurements import Profile
from scheduler.api.snapshot import JobSnapshot, SpeedObservation

MAX_NODE_NAME = 100
MAX_MESSAGE = 300
MAX_GPUS_PER_NODE = 4096
# of a JobSnapshot: the least that each number may be; None is checked where the type of the field allows it
LEAST_OF_JOB = {
    "steps_total": 0, "batch_size": 1, "steps_done": 0, "min_workers": 1, "max_workers": 1, "cpus_per_worker": 0,
    "memory_per_worker_bytes": 0, "cpus_per_server": 0, "memory_per_server_bytes": 0, "parameters_bytes": 0,
    "example_s": 0, "step_overhead_s": 0, "start_s": 0, "checkpoint_s": 0, "lost_s": 0, "executed_gpu_s": 0,
    "n_preemptions": 0, "noise_scale": 0, "requested_servers": 0, "submitted_at_s": 0, "allocated_at_s": 0,
    "training_since_s": 0, "last_resized_at_s": 0, "hold_until_s": 0, "priority": -(2**15),
    "requested_workers": 1, "max_local_batch": 1, "max_batch_size": 1, "used_batch_size": 1,
}  # fmt: skip
MAY_BE_NONE = frozenset({
    "example_s", "noise_scale", "requested_servers", "allocated_at_s", "training_since_s", "last_resized_at_s",
    "hold_until_s", "requested_workers", "max_local_batch", "max_batch_size", "used_batch_size",
})  # fmt: skip


def sound_job(job: JobSnapshot) -> JobSnapshot:
    """Returns the job. Raises ValueError that names the field that no policy can work with."""
    for name, least in LEAST_OF_JOB.items():
        value = getattr(job, name)
        if value is None and name in MAY_BE_NONE:
            continue
        if not is_number(value, least=least):
            raise ValueError(f"{name} is {value!r}; it must be a finite number of at least {least}")
    if job.bad_number is not None:  # what the scheduler refuses with the whole snapshot
        raise ValueError(f"it has {job.bad_number}")
    if not job.is_sound:
        raise ValueError(
            f"it is {job.phase} with min_workers {job.min_workers}, max_workers {job.max_workers} and "
            f"{'an' if job.allocation else 'no'} allocation"
        )
    return job


def sound_observation(observation: SpeedObservation) -> SpeedObservation:
    """Returns the observation. Raises ValueError that names the field."""
    for name in ("n_workers", "n_nodes", "n_racks", "batch_size", "n_steps", "step_s", "compute_s", "sync_s"):
        if not is_number(getattr(observation, name), least=0):
            raise ValueError(f"its measured {name} is {getattr(observation, name)!r}; it must be a finite number")
    if observation.bad_number is not None:  # what the scheduler refuses with the whole snapshot
        raise ValueError(f"it has a measured {observation.bad_number}")
    return observation


def sound_profile(profile: Profile) -> Profile:
    """Returns the profile. Raises ValueError that names the field."""
    for each in fields(profile):
        value = getattr(profile, each.name)
        if value is not None and not is_number(value, least=0):
            raise ValueError(f"its measured {each.name} is {value!r}; it must be a finite number")
    return profile


def sound_node(node: NodeStatus) -> NodeStatus:
    """Returns the node. Raises ValueError that names the field that neither the table nor a policy can work with."""
    for name in ("name", "rack", "gpu_type"):
        value = getattr(node, name)
        if not isinstance(value, str) or not value.isprintable() or len(value) > MAX_NODE_NAME:
            raise ValueError(f"its {name} is no line of at most {MAX_NODE_NAME} characters")
    if not node.name or "\0" in node.message:
        raise ValueError("its name is empty, or its message holds a null character")
    for name, least, most in (("n_slots", 0, MAX_GPUS_PER_NODE), ("max_jobs_per_gpu", 1, 2**15)):
        if type(getattr(node, name)) is not int or not least <= getattr(node, name) <= most:
            raise ValueError(f"its {name} is {getattr(node, name)!r}; it must be an integer from {least} to {most}")
    for name in ("cpus", "memory_bytes", "gpu_memory_bytes"):
        if not is_number(getattr(node, name), least=0) or getattr(node, name) >= 2**63:
            raise ValueError(f"its {name} is {getattr(node, name)!r}; it must be a finite number")
    for name in ("nic_bps", "rack_uplink_bps"):
        if not is_number(getattr(node, name), least=0) or not getattr(node, name):
            raise ValueError(f"its {name} is {getattr(node, name)!r}; it must be a number above 0")
    for gpu in node.gpus:
        if not isinstance(gpu, GpuStatus) or type(gpu.index) is not int or not 0 <= gpu.index < node.n_slots:
            raise ValueError(f"its GPU {gpu!r} is none of its {node.n_slots} slots"[:MAX_MESSAGE])
        if not all(isinstance(text, str) and "\0" not in text for text in (gpu.uuid, gpu.name, gpu.problem)):
            raise ValueError(f"its GPU {gpu.index} is described by what is no text")
        given = (gpu.memory_bytes, gpu.used_bytes, gpu.utilisation, gpu.temperature_c)
        if not all(value is None or is_number(value, least=-1000) for value in given):
            raise ValueError(f"the numbers of its GPU {gpu.index} are {given!r}"[:MAX_MESSAGE])
    return node


def is_number(value: Any, *, least: float) -> bool:
    """Whether it is a finite int or float of at least that much; a boolean is none."""
    return type(value) in (int, float) and math.isfinite(value) and value >= least
