# SPDX-License-Identifier: Apache-2.0
"""Logged models, registered models and their versions as the JSON that MLflow's clients read (MLflow 3.17)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mlhub.datasets.models import VersionState
from mlhub.registry.models import Model, ModelVersion
from mlhub.tracking.access import public_id
from mlhub.tracking.artifacts import FOLDER
from mlhub.tracking.descriptions import number
from mlhub.tracking.models import LoggedModel
from mlhub.tracking.registered import MODELS, SCHEME, location_of

NONE, STAGING, PRODUCTION, ARCHIVED = "None", "Staging", "Production", "Archived"
STAGES = (NONE, STAGING, PRODUCTION, ARCHIVED)  # of MLflow; a version is in one while it has the alias of that name
STATUS = {VersionState.READY: "READY", VersionState.REFUSED: "FAILED_REGISTRATION"}  # any other is PENDING_REGISTRATION


def logged_model(model: LoggedModel) -> dict[str, Any]:
    model_id = public_id(model)
    info = {
        "model_id": model_id,
        "experiment_id": str(model.project_id),
        "name": model.name,
        "creation_timestamp_ms": _ms(model.created_at),
        "last_updated_timestamp_ms": _ms(model.updated_at),
        "artifact_uri": f"{SCHEME}:/{model.project_id}/{MODELS}/{model_id}/{FOLDER}",
        "status": model.status,
        "model_type": model.model_type,
        "source_run_id": "" if model.run_id is None else str(model.run_id),
        "tags": _listed(model.tags),
    }
    metrics = [
        {**found, "key": key, "value": number(found["value"]), "model_id": model_id}
        for key, found in sorted(model.metrics.items())
    ]
    return {"info": info, "data": {"params": _listed(model.params), "metrics": metrics}}


def registered_model(model: Model, name: str) -> dict[str, Any]:
    """With its newest version in each stage. name: as the caller knows it; versions and aliases are prefetched."""
    versions = sorted(model.versions.all(), key=lambda one: one.number)
    newest = {stage_of(one): one for one in versions}
    changed = max([model.created_at, *(one.created_at for one in versions)])
    return {
        "name": name,
        "creation_timestamp": _ms(model.created_at),
        "last_updated_timestamp": _ms(changed),
        "user_id": _user(model),
        "description": model.description,
        "latest_versions": [registered_version(one, name) for one in newest.values()],
        "tags": _listed(model.labels),
        "aliases": [
            {"alias": alias.name, "version": str(one.number)} for one in versions for alias in one.aliases.all()
        ],
    }


def registered_version(version: ModelVersion, name: str) -> dict[str, Any]:
    """Of a version that MLHub trained, run_id is its job's, whose run can be read like any other."""
    origin = version.metadata.get("mlflow", {})
    found = {
        "name": name,
        "version": str(version.number),
        "creation_timestamp": _ms(version.created_at),
        "last_updated_timestamp": _ms(version.created_at),
        "user_id": _user(version),
        "current_stage": stage_of(version),
        "description": version.notes,
        "source": origin.get("source") or location_of(version),
        "run_id": origin.get("run_id") or ("" if version.job_id is None else str(version.job_id)),
        "status": STATUS.get(VersionState(version.state), "PENDING_REGISTRATION"),
        "status_message": (version.error or {}).get("message", ""),
        "tags": _listed(version.labels),
        "aliases": sorted(alias.name for alias in version.aliases.all()),
    }
    return {**found, "model_id": origin["model_id"]} if origin.get("model_id") else found


def stage_of(version: ModelVersion) -> str:
    names = {alias.name for alias in version.aliases.all()}
    for stage in (PRODUCTION, STAGING):
        if stage.lower() in names:
            return stage
    return ARCHIVED if version.metadata.get("mlflow", {}).get("is_archived") else NONE


def _user(row: Model | ModelVersion) -> str:
    return "" if row.created_by is None else row.created_by.get_username()


def _listed(pairs: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in sorted(pairs.items())]


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
