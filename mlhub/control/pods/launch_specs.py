# SPDX-License-Identifier: Apache-2.0
"""From an attempt's rows to the LaunchSpec that a backend gets; the same rows always give the same specification."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings

from mlhub.backends.protocol import LaunchError
from mlhub.control.pods.pod_resources import server_resources, worker_resources
from mlhub.environments.secrets import MissingSecretError, required_secrets
from mlhub.jobs.execution import inputs
from mlhub.jobs.execution.credentials import gang_secret_of, key_of, notebook_token_of, token_of
from mlhub.jobs.limits.stalls import stall_limit_s
from mlhub.jobs.models import Attempt, Job, JobKind
from mlhub.runtime.strategies.catalogue.schema import parse
from mlhub.tracking.pods import tracking_secrets, tracking_variables
from mlhub.wire.environment import NOTEBOOK_TOKEN
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, DataPlane, Input, LaunchSpec, PodPlacement, PodRole, SyncMode


def launch_spec(attempt: Attempt, *, reads_platform_disk: bool = True) -> LaunchSpec:
    """attempt: with job, allocations and the job's versions. reads_platform_disk: of the backend that gets it.

    Raises LaunchError when a secret that the job names was deleted, or is decrypted by no key.
    """
    key = key_of(attempt)
    job, pods = attempt.job, pods_of(attempt)
    return LaunchSpec(
        attempt_id=AttemptId(str(attempt.id)),
        job_id=str(job.id),
        attempt_number=attempt.number,
        mode=SyncMode(attempt.mode),
        data_plane=data_plane_of(pods),
        pods=pods,
        inputs=tuple(_reachable(item, attempt, is_disk=reads_platform_disk) for item in inputs.inputs_of(job)),
        dataset=inputs.dataset_spec(job),
        model=inputs.model_spec_of(job),
        training=inputs.training_spec(job, batch=attempt.batch_decision),
        prediction=inputs.prediction_spec(job),
        variables={**tracking_variables(attempt, api_url=settings.PUBLIC_URL), **job.environment},
        secrets={
            **tracking_secrets(attempt, key=key),
            **_own_secrets(job),
            **_notebook_secrets(attempt, key=key),
        },
        image=inputs.image_of(job),
        api_url=settings.PUBLIC_URL,
        token=token_of(attempt.id, key=key),
        gang_secret=gang_secret_of(attempt.id, key=key),
        start_timeout_s=settings.START_TIMEOUT_S,
        stall_limit_s=stall_limit_s(job),
        survives_lost_workers=attempt.n_workers > 1 and _survives(job),
        checkpoint_uri=inputs.checkpoint_folder(job).as_uri(),
        labels={
            "organisation": job.project.organisation.name,
            "project": job.project.name,
            "project_id": str(job.project_id),
            "job": job.name,
            "job_id": str(job.id),
        },
    )


def _own_secrets(job: Job) -> dict[str, str]:
    """All that the job names: without one it would do something else than it was submitted for."""
    try:
        return required_secrets(job.project_id, job.secrets)
    except MissingSecretError as error:
        raise LaunchError(str(error), cause=Cause.SECRET) from error


def _notebook_secrets(attempt: Attempt, *, key: str) -> dict[str, str]:
    """After the user's own, which cannot take its place."""
    is_notebook = attempt.job.kind == JobKind.NOTEBOOK
    return {NOTEBOOK_TOKEN: notebook_token_of(attempt.id, key=key)} if is_notebook else {}


def _survives(job: Job) -> bool:
    """Workers of a prediction take over what others leave."""
    return job.kind != JobKind.TRAIN or parse(job.strategy).declaration.survives


def data_plane_of(pods: tuple[PodPlacement, ...]) -> DataPlane:
    """The cluster's choice, not the tenant's; auto: encrypted where a gang's bytes leave their node."""
    if settings.DATA_PLANE == "auto":
        return DataPlane.TLS if len({pod.node for pod in pods}) > 1 else DataPlane.HMAC
    return DataPlane(settings.DATA_PLANE)


def _reachable(item: Input, attempt: Attempt, *, is_disk: bool) -> Input:
    """What is on no disk that pods read is fetched over the ingest API, with the attempt's token."""
    address = f"{settings.PUBLIC_URL}/api/v1/ingest/attempts/{attempt.id}/blobs/{item.sha256}"
    return item if item.uri and is_disk else replace(item, uri=address)


def pods_of(attempt: Attempt) -> tuple[PodPlacement, ...]:
    """Workers by rank, then servers by shard."""
    placement, job = attempt.placement(), attempt.job
    workers = [
        PodPlacement(PodRole.WORKER, rank, node, worker_resources(job), (slot,))
        for rank, (node, slot) in enumerate(placement.workers)
    ]
    servers = [
        PodPlacement(PodRole.SERVER, shard, node, server_resources(job)) for shard, node in enumerate(placement.servers)
    ]
    return (*workers, *servers)
