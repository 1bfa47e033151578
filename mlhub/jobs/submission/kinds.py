# SPDX-License-Identifier: Apache-2.0
"""What a request is checked for, by the kind of the job that it asks for."""

from __future__ import annotations

from typing import Any

from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.limits.capacity import check_capacity, check_resources, types_of
from mlhub.jobs.models import JobKind
from mlhub.jobs.submission.admission import check_request
from mlhub.jobs.submission.notebooks import check_notebook
from mlhub.jobs.submission.predictions import check_prediction
from mlhub.jobs.submission.training_defaults import with_training_defaults
from mlhub.registry.models import ModelVersion
from mlhub.tenants.models import Project


def checked_request(
    kind: str,
    project: Project,
    dataset_version: DatasetVersion | None,
    model_version: ModelVersion,
    request: dict[str, Any],
) -> dict[str, Any]:
    """The request of a job of this kind, with what was left out. Raises InvalidInputError for what can never run."""
    if kind == JobKind.TRAIN:
        request = with_training_defaults(dataset_version, model_version, request)
        return check_request(project, dataset_version, model_version, request)
    if kind == JobKind.NOTEBOOK:
        return check_notebook(project, request)
    request = check_prediction(kind, dataset_version, model_version, request)
    check_capacity(project, request["min_workers"], types_of(request))
    check_resources(request)
    return request
