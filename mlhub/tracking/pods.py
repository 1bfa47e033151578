# SPDX-License-Identifier: Apache-2.0
"""What the pods of scripts are given so that plain MLflow calls log to their job: an address, a credential, a run."""

from __future__ import annotations

from collections.abc import Mapping

from mlhub.jobs.execution.credentials import tracking_token_of
from mlhub.jobs.execution.inputs import code_of
from mlhub.jobs.models import Attempt, Job
from mlhub.registry.models import Kind

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
