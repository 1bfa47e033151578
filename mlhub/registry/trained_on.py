# SPDX-License-Identifier: Apache-2.0
"""What a trained version keeps of the dataset that it was trained on: its name, and how inputs are read.

Datasets are deleted, for their size or for the people in them; the model goes on to predict.
"""

from __future__ import annotations

from typing import Any

from mlhub.datasets.models import DatasetVersion
from mlhub.registry.models import ModelVersion
from mlhub.runtime.prediction.schema_compatibility import TrainedSchema


def kept_of(dataset_version: DatasetVersion | None) -> dict[str, Any]:
    """The value of ModelVersion.trained_on; {} for what a script trained without a dataset."""
    if dataset_version is None:
        return {}
    return {
        "dataset": dataset_version.dataset.name,
        "number": dataset_version.number,
        "format": dataset_version.format,
        "schema": dataset_version.schema or {},
    }


def inputs_read_by(version: ModelVersion) -> TrainedSchema | None:
    """How the version's inputs are read; None where it was trained without a dataset, or nothing was kept of it."""
    there, kept = version.dataset_version, version.trained_on
    if there is not None:
        return TrainedSchema(there.format, there.schema or {})
    return TrainedSchema(kept["format"], kept["schema"]) if kept else None


def name_of(version: ModelVersion) -> str:
    """Such as "wine, version 1", as it was called when it was trained; "" without a dataset."""
    kept = version.trained_on
    return f"{kept['dataset']}, version {kept['number']}" if kept else ""
