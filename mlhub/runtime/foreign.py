"""What scripts of other frameworks look for in their environment, beside torch's variables of the backend. Pure.

TF_CONFIG: TensorFlow's MultiWorkerMirroredStrategy. DMLC_*: ps-lite, MXNet, BytePS; whose scheduler a script starts
itself, on worker 0.
"""

from __future__ import annotations

import json

from mlhub.wire.launch import PodSpec


def variables(spec: PodSpec) -> dict[str, str]:
    """Of a worker whose gang runs a script."""
    host, _, port = spec.master_address.rpartition(":")
    found = {
        "DMLC_ROLE": "worker",
        "DMLC_PS_ROOT_URI": host,
        "DMLC_PS_ROOT_PORT": port,
        "DMLC_NUM_WORKER": str(spec.n_workers),
        "DMLC_NUM_SERVER": str(spec.n_servers),
        "DMLC_WORKER_ID": str(spec.index),
    }
    if spec.worker_addresses:
        task = {"type": "worker", "index": spec.index}
        found["TF_CONFIG"] = json.dumps({"cluster": {"worker": list(spec.worker_addresses)}, "task": task})
    return found
