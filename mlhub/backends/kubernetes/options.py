# SPDX-License-Identifier: Apache-2.0
"""What an administrator chooses about the cluster; every field has a MLHUB_KUBE_ setting of the same name."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from mlhub._version import __version__
from mlhub.wire.images import allowed_images, wrong_entry

MIB, GIB = 2**20, 2**30
LEAST = {
    "launch_parallelism": 1,
    "worker_cpus": 0.1,
    "server_cpus": 0.1,
    "worker_memory_bytes": 256 * MIB,
    "server_memory_bytes": 256 * MIB,
    "sandbox_cpus": 0.1,
    "sandbox_memory_bytes": 256 * MIB,
}
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True)
class KubernetesOptions:
    """kubeconfig: path; "" = the pod's own service account, or else ~/.kube/config. Bytes and seconds as suffixed.

    installation: what this MLHub's objects are labelled with; "" = namespace_prefix.
    images: which images of their own jobs may bring, separated by commas: references, and beginnings of them that
    end in / or *; "" = none.
    launch_parallelism: so many requests that write are under way at once; gangs are launched in as many threads.
    api_url: where pods reach the ingest API, when that is not MLHub's public address.
    ingest_namespace: the namespace of the web pods that pods may talk to; ingest_cidr: an address range instead.
    checkpoint_bytes, cache_bytes: size of a project's shared volume; 0 = none (then a checkpoint dies with its pod).
    worker_cpus, server_cpus: of a pod whose job names none; worker_memory_bytes, server_memory_bytes: at least so much
    where the dry run took less.
    sandbox_cpus, sandbox_memory_bytes: what a node must have free for a run of uploaded code; its limits are higher.
    store_claim: name of a volume claim, in every project's namespace, with the platform's blobs; store_csi: the same as
    driver?key=value&... of a CSI driver that mounts it for a pod. Inputs of in_place_from_bytes or more are read there.
    store_cidr, store_namespace, store_port: where pods may reach an object store; "" = nowhere.
    program: Python source that pods run instead of the runtime; for `make kube-check`.
    gpu_resource: what the device plugin calls a GPU; gpu_device_class: DeviceClass and driver of the same, for claims.
    max_jobs_per_gpu: where GPUs can be shared, at most so many jobs on one; 1 = never.
    cpu_slots: how many workers a node without GPUs takes at once; 0 = one per allocatable CPU.
    """

    kubeconfig: str = ""
    context: str = ""
    namespace_prefix: str = "mlhub"
    installation: str = ""
    launch_parallelism: int = 16
    image: str = f"mlhub-runtime:{__version__}"
    images: str = ""
    image_pull_policy: str = "IfNotPresent"
    image_pull_secret: str = ""
    runtime_class: str = ""
    priority_class: str = ""
    program: str = ""
    api_url: str = ""
    ingest_namespace: str = "mlhub"
    ingest_cidr: str = ""
    gpu_resource: str = "nvidia.com/gpu"
    gpu_device_class: str = "gpu.nvidia.com"
    max_jobs_per_gpu: int = 2
    cpu_slots: int = 0
    storage_class: str = ""
    checkpoint_bytes: int = 0
    cache_bytes: int = 0
    store_claim: str = ""
    store_csi: str = ""
    in_place_from_bytes: int = 256 * MIB
    store_cidr: str = ""
    store_namespace: str = ""
    store_port: int = 443
    worker_cpus: float = 1.0
    server_cpus: float = 0.5
    worker_memory_bytes: int = 1536 * MIB
    server_memory_bytes: int = 768 * MIB
    ephemeral_bytes: int = 20 * GIB
    sandbox_cpus: float = 0.5
    sandbox_memory_bytes: int = GIB
    project_pods: int = 0
    nic_bps: float = 10e9
    rack_uplink_bps: float = 40e9
    request_timeout_s: float = 10.0
    unschedulable_after_s: float = 20.0
    node_lost_after_s: float = 40.0
    half_made_after_s: float = 15.0

    @property
    def installation_id(self) -> str:
        return self.installation or self.namespace_prefix

    @property
    def allowed_images(self) -> tuple[str, ...]:
        return allowed_images(self.images)

    def __post_init__(self) -> None:
        wrong = wrong_entry(self.allowed_images)
        if wrong is not None:
            raise ValueError(
                f"MLHUB_KUBE_IMAGES has {wrong!r}; each entry is an image such as registry.example.org/team/train:1.4, "
                "or the beginning of one that ends in / or *."
            )
        if not _LABEL_VALUE.fullmatch(self.installation_id):
            raise ValueError(
                f"MLHUB_KUBE_INSTALLATION is {self.installation_id!r}; it must be a label's value: at most 63 letters, "
                "digits, '-', '_' and '.', with a letter or digit at both ends."
            )
        for name, least in LEAST.items():
            if not least <= getattr(self, name) < math.inf:
                raise ValueError(
                    f"MLHUB_KUBE_{name.upper()} is {getattr(self, name):g}; it must be {least:g} or more, and finite."
                )

    @classmethod
    def from_settings(cls, raw: Mapping[str, str]) -> KubernetesOptions:
        """raw: by field name, as text. Raises ValueError that names the setting."""
        found: dict[str, object] = {}
        kinds = {"int": int, "float": float, "str": str}
        for field in fields(cls):
            text = raw.get(field.name, "")
            if text == "":
                continue
            try:
                found[field.name] = kinds[str(field.type)](text)
            except ValueError as error:
                raise ValueError(
                    f"MLHUB_KUBE_{field.name.upper()} is {text!r}; it must be a number ({field.type})."
                ) from error
        unknown = set(raw) - {field.name for field in fields(cls)}
        if unknown:
            names = ", ".join(f"MLHUB_KUBE_{name.upper()}" for name in sorted(unknown))
            raise ValueError(f"Unknown settings: {names}. See docs/guides/kubernetes.md.")
        return cls(**found)  # type: ignore[arg-type]
