# SPDX-License-Identifier: Apache-2.0
"""Projects, runs and jobs as the JSON that MLflow's clients read (service.proto of MLflow 3.17)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlhub.jobs.models import Job
from mlhub.tenants.models import Project
from mlhub.tracking import job_runs
from mlhub.tracking.access import public_id
from mlhub.tracking.artifacts import FOLDER
from mlhub.tracking.models import ExperimentTags, Run, RunDataset, RunModel

ACTIVE, DELETED = "active", "deleted"


def experiment(project: Project, *, in_pod: bool = False) -> dict[str, Any]:
    """An archived project is a deleted experiment: it takes no runs, but from pods of jobs that go on to their end."""
    made_ms = int(project.created_at.timestamp() * 1000)
    written: ExperimentTags | None = getattr(project, "experiment_tags", None)
    tags = {"mlhub.organisation": project.organisation.name, **(written.values if written else {})}
    return {
        "experiment_id": str(project.pk),
        "name": project.name,
        "artifact_location": f"mlflow-artifacts:/{project.pk}",
        "lifecycle_stage": DELETED if project.archived_at is not None and not in_pod else ACTIVE,
        "creation_time": made_ms,
        "last_update_time": made_ms,
        "tags": _listed(tags),
    }


def run_info(target: Run | Job) -> dict[str, Any]:
    """A job's end is that of its pods, whatever a client says of its run."""
    if isinstance(target, Job):
        ended = None if target.finished_at is None else int(target.finished_at.timestamp() * 1000)
        status, started = job_runs.status_of(target).value, int(target.submitted_at.timestamp() * 1000)
        stage = ACTIVE
    else:
        ended, status, started = target.ended_ms, target.status, target.started_ms
        stage = DELETED if target.deleted_at is not None else ACTIVE
    found = {
        "run_id": str(target.pk),
        "run_uuid": str(target.pk),
        "run_name": target.name,
        "experiment_id": str(target.project_id),
        "user_id": target.created_by.get_username(),
        "status": status,
        "start_time": started,
        "artifact_uri": f"mlflow-artifacts:/{target.project_id}/{target.pk}/{FOLDER}",
        "lifecycle_stage": stage,
    }
    return found if ended is None else {**found, "end_time": ended}


def runs(targets: Sequence[Run | Job]) -> list[dict[str, Any]]:
    """Each as run(); the metrics of all jobs are read at once."""
    of_jobs = job_runs.latest_metrics([target for target in targets if isinstance(target, Job)])
    return [_run(target, of_jobs.get(target.pk, [])) for target in targets]


def run(target: Run | Job) -> dict[str, Any]:
    """With its newest metrics, parameters, tags and datasets."""
    return runs([target])[0]


def _run(target: Run | Job, of_job: list[dict[str, Any]]) -> dict[str, Any]:
    if isinstance(target, Job):
        own: Run | None = getattr(target, "tracked_run", None)
        metrics = of_job
        params = {**job_runs.configuration(target), **(_pairs(own.params) if own else {})}
        tags = {**job_runs.own_tags(target), **(_pairs(own.tags) if own else {})}
    else:
        own = target
        metrics = [
            {"key": s.key, "value": number(s.last_value), "timestamp": s.last_ms, "step": s.last_step}
            for s in target.series.all()
            if s.n_points
        ]
        params, tags = _pairs(target.params), {"mlflow.runName": target.name, **_pairs(target.tags)}
    return {
        "info": run_info(target),
        "data": {"metrics": metrics, "params": _listed(params), "tags": _listed(tags)},
        "inputs": {
            "dataset_inputs": [_dataset(one) for one in _datasets(own)] if own else [],
            "model_inputs": [{"model_id": public_id(one.logged_model)} for one in _models(own, is_output=False)],
        },
        "outputs": {
            "model_outputs": [
                {"model_id": public_id(one.logged_model), "step": one.step} for one in _models(own, is_output=True)
            ]
        },
    }


def points(key: str, rows: list[tuple[int, int, float]]) -> list[dict[str, Any]]:
    return [{"key": key, "value": number(value), "timestamp": at_ms, "step": step} for step, at_ms, value in rows]


def number(value: float) -> float | str:
    """As protobuf writes numbers that JSON lacks."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _pairs(rows: Any) -> dict[str, str]:
    return {row.key: row.value for row in rows.all()}


def _listed(pairs: dict[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in sorted(pairs.items())]


def _datasets(run: Run) -> list[RunDataset]:
    """In the order in which they were logged."""
    return sorted(run.datasets.all(), key=lambda row: row.id)


def _models(run: Run | None, *, is_output: bool) -> list[RunModel]:
    """In the order in which they were logged."""
    found = [row for row in run.models.all() if row.is_output == is_output] if run is not None else []
    return sorted(found, key=lambda row: row.id)


def _dataset(row: RunDataset) -> dict[str, Any]:
    return {
        "dataset": {"name": row.name, "digest": row.digest, **row.description},
        "tags": _listed(row.tags),
    }
