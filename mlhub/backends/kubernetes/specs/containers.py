# SPDX-License-Identifier: Apache-2.0
"""What is inside a pod: two containers of the runtime image, their volumes, limits and security. Pure.

An image that a job brings is that of its workers' main container alone: `prepare` writes into the project's cache,
which other jobs read, and parameter servers run no code of users.
"""

from __future__ import annotations

from typing import Any

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.names import GangNames
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs import image_check, in_place
from mlhub.backends.kubernetes.specs.gpus import GpuOffer, Way
from mlhub.wire import environment
from mlhub.wire.launch import LaunchSpec, PodPlacement, PodRole

PREPARE, MAIN = "prepare", "main"
USER = 10001
SCRATCH, GANG, SECRETS, INPUTS, CHECKPOINTS = (
    "/mlhub/scratch",
    "/mlhub/gang",
    "/mlhub/secrets",
    "/mlhub/inputs",
    "/mlhub/checkpoints",
)
ACCOUNT = "mlhub-pods"  # without rights and without a token
CHECKPOINT_CLAIM, CACHE_CLAIM = "mlhub-checkpoints", "mlhub-inputs"
MIB = 2**20
LEAST_SHARED_MEMORY_BYTES = 64 * MIB
LEAST_DISK_BYTES = 1024 * MIB


def pod_security() -> dict[str, Any]:
    """What the Pod Security standard `restricted` asks for."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def prepare_container(spec: LaunchSpec, placement: PodPlacement, options: KubernetesOptions) -> dict[str, Any]:
    """Brings the inputs, writes the pod's specification, and leaves once every member of the gang is there."""
    arguments = ["--gang", GANG, "--inputs", INPUTS]
    return {
        "name": PREPARE,
        "command": ["python", "-m", "mlhub.runtime.launcher.prepare", *arguments],
        "env": _environment(_own_variables(spec, placement, options)),
        "volumeMounts": _mounts(spec, options, may_write_inputs=True),
        **_container(placement, options),
    }


def main_container(
    spec: LaunchSpec, placement: PodPlacement, gang: GangNames, options: KubernetesOptions, *, offer: GpuOffer | None
) -> dict[str, Any]:
    """offer: the GPUs of its node; None where slots are shares of the CPUs."""
    variables = _own_variables(spec, placement, options)
    variables[environment.SERVER_ADDRESSES] = ",".join(names.server_addresses(spec, gang))
    if placement.role is PodRole.WORKER:
        host, _, port = names.master_address(gang).rpartition(":")
        variables |= {
            environment.RANK: str(placement.index),
            environment.LOCAL_RANK: "0",
            environment.WORLD_SIZE: str(len(spec.workers)),
            environment.MASTER_ADDR: host,
            environment.MASTER_PORT: port,
        }
    return {
        "name": MAIN,
        "command": _main_command(own_image(spec, placement), options),
        "env": _environment(variables),
        "volumeMounts": _mounts(spec, options, may_write_inputs=False),
        **_container(placement, options, offer=offer),
        **({"image": own_image(spec, placement)} if own_image(spec, placement) else {}),
    }


def own_image(spec: LaunchSpec, placement: PodPlacement) -> str:
    """The image of the job in which this pod's trainer runs; "" = the platform's."""
    return spec.image if placement.role is PodRole.WORKER else ""


def _main_command(image: str, options: KubernetesOptions) -> list[str]:
    if options.program:
        return ["python", "-c", options.program]
    return image_check.command(image) if image else ["python", "-m", "mlhub.runtime"]


def volumes(
    spec: LaunchSpec, placement: PodPlacement, gang: GangNames, options: KubernetesOptions
) -> list[dict[str, Any]]:
    shared_memory = max(LEAST_SHARED_MEMORY_BYTES, placement.resources.memory_bytes // 4)
    return [
        {"name": "scratch", "emptyDir": {"sizeLimit": str(options.ephemeral_bytes)}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": str(shared_memory)}},
        {"name": "gang", "secret": _part_of_secret(gang, "launch.json", "addresses.json")},
        {"name": "secrets", "secret": _part_of_secret(gang, "token", "secret", "secrets.json")},
        {"name": "inputs", **_claim_or_empty(CACHE_CLAIM if options.cache_bytes else "", options)},
        {"name": "checkpoints", **_claim_or_empty(CHECKPOINT_CLAIM if options.checkpoint_bytes else "", options)},
        *in_place.volumes(spec, options),
    ]


def _part_of_secret(gang: GangNames, *files: str) -> dict[str, Any]:
    items = [{"key": file, "path": file} for file in files]
    return {"secretName": gang.name, "defaultMode": 0o440, "items": items}


def _own_variables(spec: LaunchSpec, placement: PodPlacement, options: KubernetesOptions) -> dict[str, str]:
    return {
        "HOME": SCRATCH,
        "TMPDIR": "/tmp",  # noqa: S108 - an emptyDir of this pod alone
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": str(max(1, int(placement.resources.cpus))),
        environment.SPEC_PATH: f"{SCRATCH}/spec.json",
        environment.API_URL: options.api_url or spec.api_url,
        environment.TOKEN_PATH: f"{SECRETS}/token",
        environment.SECRET_PATH: f"{SECRETS}/secret",
        environment.USER_SECRETS_PATH: f"{SECRETS}/secrets.json",
        environment.WORK_DIR: SCRATCH,
        environment.ROLE: placement.role.value,
        environment.INDEX: str(placement.index),
        environment.ATTEMPT_ID: spec.attempt_id,
        environment.JOB_ID: spec.job_id,
    }


def _environment(variables: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in variables.items()]


def _mounts(spec: LaunchSpec, options: KubernetesOptions, *, may_write_inputs: bool) -> list[dict[str, Any]]:
    return [
        {"name": "scratch", "mountPath": SCRATCH, "subPath": "work"},
        {"name": "scratch", "mountPath": "/tmp", "subPath": "tmp"},  # noqa: S108 - the same emptyDir
        {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - an emptyDir in memory
        {"name": "gang", "mountPath": GANG, "readOnly": True},
        {"name": "secrets", "mountPath": SECRETS, "readOnly": True},
        {"name": "inputs", "mountPath": INPUTS, "readOnly": not may_write_inputs},
        # the job's own folder: another job of the project is not even visible
        {"name": "checkpoints", "mountPath": f"{CHECKPOINTS}/{spec.job_id}", "subPath": spec.job_id},
        *in_place.mounts(spec, options),
    ]


def claim_reference(slot: int) -> str:
    """What a pod calls the claim for one of its slots."""
    return f"gpu-{slot}"


def _container(placement: PodPlacement, options: KubernetesOptions, *, offer: GpuOffer | None = None) -> dict[str, Any]:
    """Requests equal limits: what the scheduler counted on is what the pod has. Disk is not counted: a little of it."""
    limits = {
        "cpu": f"{int(placement.resources.cpus * 1000)}m",
        "memory": str(placement.resources.memory_bytes),
        "ephemeral-storage": str(options.ephemeral_bytes),
    }
    disk_bytes = min(LEAST_DISK_BYTES, options.ephemeral_bytes)
    if offer is not None and offer.resource and placement.slots:
        limits[offer.resource] = str(len(placement.slots))
    claimed: dict[str, Any] = {}
    if offer is not None and offer.way is Way.CLAIMED and placement.slots:
        claimed = {"claims": [{"name": claim_reference(slot)} for slot in placement.slots]}
    return {
        "image": options.image,
        "imagePullPolicy": options.image_pull_policy,
        "workingDir": SCRATCH,
        "resources": {"limits": limits, "requests": {**limits, "ephemeral-storage": str(disk_bytes)}, **claimed},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _claim_or_empty(claim: str, options: KubernetesOptions) -> dict[str, Any]:
    if claim:
        return {"persistentVolumeClaim": {"claimName": claim}}
    return {"emptyDir": {"sizeLimit": str(options.ephemeral_bytes)}}
