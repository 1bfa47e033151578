# SPDX-License-Identifier: Apache-2.0
"""A new study with the request of another one, but for some changes."""

from __future__ import annotations

from typing import Any

from mlhub.core.errors import ConflictError
from mlhub.datasets.models import DatasetVersion
from mlhub.experiments.actions import create_study
from mlhub.experiments.algorithms.search import Algorithm
from mlhub.experiments.lengths import LENGTHS
from mlhub.experiments.models import Study, Unit
from mlhub.registry.models import ModelVersion
from mlhub.tenants.models import User

KEPT = (
    "name", "space", "metric", "direction", "algorithm", "eta", "seed", "max_parallel", "max_trials", "max_epochs",
    "max_gpu_hours",
)  # fmt: skip
RUNG_SETTINGS = ("algorithm", "eta", "max_trials", "steps")  # with one of them changed, the first rung is chosen anew


def clone_study(
    study: Study,
    *,
    dataset_version: DatasetVersion | None = None,
    model_version: ModelVersion | None = None,
    settings: dict[str, Any],
    actor: User,
    **changes: Any,
) -> Study:
    """Raises what create_study raises, and ConflictError where what it read or trained was deleted.

    dataset_version, model_version: others than the study's. settings: what shall be different of its jobs. changes: of
    the request that create_study takes.
    """
    dataset_version = dataset_version or study.dataset_version
    model_version = model_version or study.model_version
    if model_version is None or (study.has_dataset and dataset_version is None):
        what = "model" if model_version is None else "dataset"
        raise ConflictError(
            f"The {what} of {study.name} was deleted.",
            code="input_deleted",
            remedy=f"Name another one: job.{what}.",
            state=study.state,
        )
    kept = {name: getattr(study, name) for name in KEPT} | _lengths_of(study, changes, settings)
    if study.unit == Unit.STEPS or changes.get("steps") is not None:  # what a script is not limited by
        kept.pop("max_epochs")
    return create_study(
        study.project,
        dataset_version=dataset_version,
        model_version=model_version,
        settings={**study.settings, **settings},
        actor=actor,
        **{**kept, **changes},
    )


def _lengths_of(study: Study, changes: dict[str, Any], settings: dict[str, Any]) -> dict[str, int]:
    """As the request may have named them; the first rung only while nothing that it follows from is changed."""
    found = {"steps": study.rungs[-1]} if study.unit == Unit.STEPS else {}
    algorithm = changes.get("algorithm", study.algorithm)
    is_kept = not any(name in changes for name in (*RUNG_SETTINGS, *LENGTHS)) and "epochs" not in settings
    if algorithm == Algorithm.ASHA and is_kept:
        found[f"min_{study.unit}"] = study.rungs[0]
    return found
