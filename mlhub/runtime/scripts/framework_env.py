# SPDX-License-Identifier: Apache-2.0
"""What scripts of other frameworks look for in their environment, in addition to the backend's for torch. Pure.

ACCELERATE_USE_CPU: without it Accelerate, and the Trainer of Hugging Face, form no gang on processors: each worker
would train alone.
TORCHELASTIC_* and what goes with it: by these Lightning and others know that torchrun, not they, starts the workers.
TF_CONFIG: TensorFlow's MultiWorkerMirroredStrategy. DMLC_*: ps-lite, MXNet, BytePS; whose scheduler a script starts
itself, on worker 0.
"""

from __future__ import annotations

import json

from mlhub.wire.launch import PodSpec


def variables(spec: PodSpec, *, has_accelerator: bool = True) -> dict[str, str]:
    """Of a worker whose gang runs a script. has_accelerator: of its pod."""
    host, _, port = spec.master_address.rpartition(":")
    found = {
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": str(spec.index),
        "GROUP_WORLD_SIZE": str(spec.n_workers),
        "ROLE_RANK": str(spec.index),
        "ROLE_WORLD_SIZE": str(spec.n_workers),
        "ROLE_NAME": "default",
        "NODE_RANK": str(spec.index),
        "TORCHELASTIC_RUN_ID": spec.job_id,
        "TORCHELASTIC_RESTART_COUNT": str(max(0, spec.attempt_number - 1)),
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "DMLC_ROLE": "worker",
        "DMLC_PS_ROOT_URI": host,
        "DMLC_PS_ROOT_PORT": port,
        "DMLC_NUM_WORKER": str(spec.n_workers),
        "DMLC_NUM_SERVER": str(spec.n_servers),
        "DMLC_WORKER_ID": str(spec.index),
    }
    if not has_accelerator:
        found["ACCELERATE_USE_CPU"] = "true"
    if spec.worker_addresses:
        task = {"type": "worker", "index": spec.index}
        found["TF_CONFIG"] = json.dumps({"cluster": {"worker": list(spec.worker_addresses)}, "task": task})
    return found
