# SPDX-License-Identifier: Apache-2.0
"""What the pods of scripts are given so that plain MLflow calls log to their job: an address, a credential, a run.

What they log so comes past their launcher, which masks secrets in all else that they send: it is masked here.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlhub.environments.secrets import secret_values
from mlhub.jobs.execution.credentials import tracking_token_of
from mlhub.jobs.execution.inputs import code_of
from mlhub.jobs.models import Attempt, Job
from mlhub.registry.models import Kind
from mlhub.tracking.limits import Entry, LogBatch
from mlhub.wire.masking import NO_SECRETS, SecretMask

URI = "MLFLOW_TRACKING_URI"
TOKEN = "MLFLOW_TRACKING_TOKEN"


def is_tracked(job: Job) -> bool:
    """Scripts are, unless the user names a tracking server of their own."""
    return code_of(job.model_version).kind == Kind.SCRIPT and URI not in job.environment and URI not in job.secrets


def tracking_variables(attempt: Attempt, *, api_url: str) -> Mapping[str, str]:
    """The address is below the one where pods report: the local backend's pods reach nothing else."""
    job = attempt.job
    if not is_tracked(job):
        return {}
    return {
        URI: f"{api_url}/api/v1/ingest/attempts/{attempt.pk}",
        "MLFLOW_RUN_ID": str(job.pk),
        "MLFLOW_EXPERIMENT_NAME": job.project.name,
    }


def tracking_secrets(attempt: Attempt, *, key: str) -> Mapping[str, str]:
    """key: of jobs/execution/credentials.py. The log shows the credential as little as the user's secrets."""
    return {TOKEN: tracking_token_of(attempt.id, key=key)} if is_tracked(attempt.job) else {}


def mask_of(attempt: Attempt | None) -> SecretMask:
    """What hides the secrets of the attempt's job in texts that its pods log; NO_SECRETS for a person's program."""
    if attempt is None or not attempt.job.secrets:
        return NO_SECRETS
    return SecretMask(secret_values(attempt.job.project_id, attempt.job.secrets).values())


def masked_batch(batch: LogBatch, attempt: Attempt | None) -> LogBatch:
    """The batch without the secrets of the attempt's job. attempt: whose pods log it; None: a person's program does."""
    mask = mask_of(attempt)
    if mask is NO_SECRETS:
        return batch
    return LogBatch(
        points=[point._replace(key=mask.name(point.key)) for point in batch.points],
        params=[Entry(mask.name(entry.key), mask(entry.value)) for entry in batch.params],
        tags=[Entry(mask.name(entry.key), mask(entry.value)) for entry in batch.tags],
    )
