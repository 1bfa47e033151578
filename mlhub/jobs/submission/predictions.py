# SPDX-License-Identifier: Apache-2.0
"""May this model answer for this dataset? What a prediction job is made of, or why it can never run."""

from __future__ import annotations

import math
from typing import Any

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.models import Job, JobKind, ModeChoice
from mlhub.jobs.states import JobState, predicate
from mlhub.jobs.submission.training_defaults import n_held_out
from mlhub.registry.models import Kind, ModelVersion
from mlhub.registry.trained_on import inputs_read_by
from mlhub.runtime.data.validation_options import read_validation
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.prediction.schema_compatibility import TrainedSchema, schema_for_model
from mlhub.tenants.models import User

LEAST_BATCH, MOST_BATCH, N_PARTS = 256, 4096, 64  # a few examples are not worth another worker's start
COMMON = ("name", "priority", "min_workers", "max_workers", "batch_size", "resources", "limits")
ASKED = {"features": [], "output": "parquet", "examples": "all"}


def model_version_of_job(user: User, job_id: Any) -> ModelVersion:
    """What a finished job trained. Raises NotFoundError, ConflictError, InvalidInputError."""
    jobs = Job.objects.select_related("result_version__model__project", "result_version__code_version")
    job: Job = jobs.get_visible(user, job_id, field="model_of")
    if job.kind != JobKind.TRAIN:
        raise InvalidInputError(
            f"{job.name} did not train: it is a job to {job.kind}.", field="model_of", remedy="Name a training job."
        )
    if job.state != JobState.SUCCEEDED:
        raise ConflictError(
            f"{job.name} has no model: it {predicate(job.state)}.",
            code="not_ready",
            field="model_of",
            remedy="Wait until it has succeeded." if job.finished_at is None else "Name a job that succeeded.",
        )
    if job.result_version is None:
        raise InvalidInputError(
            f"{job.name} handed in no weights.", field="model_of", remedy="Name a job that trained a model."
        )
    return job.result_version


def check_prediction(
    kind: str, dataset: DatasetVersion | None, model: ModelVersion, request: dict[str, Any]
) -> dict[str, Any]:
    """A Job's fields, from the request and from what the training was asked for.

    Raises InvalidInputError naming field and remedy.
    """
    if dataset is None:
        raise InvalidInputError(f"A job of kind {kind} needs a dataset.", field="dataset", remedy="Name one.")
    trained = _trained_by(model)
    _check_model(model)
    trained_on = inputs_read_by(model)
    if trained_on is None:
        raise InvalidInputError(
            f"Nothing says how inputs of {model.model.name} are read: it was trained without a dataset, or by an "
            "earlier version of MLHub on one that is deleted.",
            field="model_of",
            remedy="Train the model again on a dataset.",
        )
    try:
        schema = schema_for_model(
            trained_on,
            TrainedSchema(dataset.format, dataset.schema or {}),
            needs_targets=kind == JobKind.EVALUATE,
        )
    except BadInputError as error:
        raise InvalidInputError(error.message, field=error.field, remedy=error.remedy) from error
    asked = ASKED | {name: request[name] for name in ASKED if name in request}
    _check_asked(kind, asked, trained["strategy"])
    n = int((dataset.schema or {}).get("n_examples") or 1)
    if asked["examples"] == "held_out":
        n = n_held_out(schema | {"n_examples": n}, read_validation(trained["hyperparameters"]))
    batch_size = request.get("batch_size") or min(MOST_BATCH, max(LEAST_BATCH, math.ceil(n / N_PARTS)))
    n_parts = max(1, math.ceil(n / batch_size))
    least, most = request.get("min_workers", 1), request.get("max_workers", 64)
    if least > min(most, n_parts):
        raise InvalidInputError(
            f"{least} workers cannot share {n_parts} parts of {batch_size} examples, with max_workers {most}.",
            field="min_workers",
            remedy=f"Give at most {min(most, n_parts)}, or a smaller batch_size.",
        )
    combine = trained["strategy"].get("combine", "mean")
    return {
        **{name: request[name] for name in COMMON if name in request and name != "name"},
        "kind": kind,
        "prediction": {**asked, "combine": combine},
        "epochs": 1,
        "batch_size": batch_size,
        "min_workers": least,
        "max_workers": min(most, n_parts),
        "mode": ModeChoice.ALL_REDUCE,
        "hyperparameters": trained["hyperparameters"],
        "seed": trained["seed"],
    }


def _trained_by(model: ModelVersion) -> dict[str, Any]:
    """What the training was asked for: by its job, or by the metadata of its version."""
    job = Job.objects.filter(pk=model.job_id).first() if model.job_id else None
    if job is not None:
        return {"hyperparameters": job.hyperparameters, "strategy": job.strategy, "seed": job.seed}
    metadata = model.metadata
    return {
        "hyperparameters": metadata.get("hyperparameters") or {},
        "strategy": metadata.get("strategy") or {},
        "seed": metadata.get("seed") or 0,
    }


def _check_model(model: ModelVersion) -> None:
    if model.weights_id is None:
        raise InvalidInputError(
            f"This version of {model.model.name} has no weights: it is code.",
            field="model_version",
            remedy="Train it, and name the version that the job made, or the job as model_of.",
        )
    if model.kind == Kind.SCRIPT:
        raise InvalidInputError(
            f"{model.model.name} is a script: MLHub cannot call its model.",
            field="model_of",
            remedy="Bring the model as a package with build_model, or predict within the script.",
        )


def _check_asked(kind: str, asked: dict[str, Any], strategy: dict[str, Any]) -> None:
    if kind == JobKind.EVALUATE:
        for name in ("features", "output"):
            if asked[name] != ASKED[name]:
                raise InvalidInputError(
                    f"An evaluation gives metrics, and no {name}.", field=name, remedy=f"Leave {name} out, or predict."
                )
    if asked["features"] and strategy.get("name") == "ensemble":
        raise InvalidInputError(
            "Each member of an ensemble has layers of its own.", field="features", remedy="Leave features out."
        )
    if len(set(asked["features"])) != len(asked["features"]):
        raise InvalidInputError("A layer is named twice.", field="features", remedy="Name each layer once.")
