# SPDX-License-Identifier: Apache-2.0
"""The datasets that a script reads besides the job's own: each under a name, as a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlhub.core.errors import InvalidInputError
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.models import FurtherDataset, Job
from mlhub.jobs.submission.admission import check_versions
from mlhub.registry.models import Kind, ModelVersion
from mlhub.tenants.models import Project

NamedVersions = Mapping[str, DatasetVersion]


def check_further(project: Project, named: NamedVersions, model: ModelVersion) -> None:
    """Raises InvalidInputError, ConflictError naming the dataset that cannot be read."""
    if named and model.kind != Kind.SCRIPT:
        raise InvalidInputError(
            f"{model.model.name} is no script: it reads one dataset.",
            field="datasets",
            remedy="Leave datasets out, or upload a script.",
        )
    for name, version in named.items():
        check_versions(project, version, model, field=f"datasets.{name}")


def described(named: NamedVersions) -> dict[str, Any]:
    """What a job keeps of them: pods and families need no other row. Versions never change."""
    return {
        name: {
            "dataset": {"id": str(version.dataset_id), "name": version.dataset.name},
            "version": str(version.id),
            "number": version.number,
            "files": version.files,
        }
        for name, version in sorted(named.items())
    }


def protect(job: Job, named: NamedVersions) -> None:
    """Keeps the versions from being deleted while the job is there."""
    rows = [FurtherDataset(job=job, name=name, dataset_version=version) for name, version in named.items()]
    FurtherDataset.objects.bulk_create(rows)


def further_of(job: Job) -> dict[str, DatasetVersion]:
    """The versions by name, for a clone of the job."""
    rows = job.further_datasets.select_related("dataset_version__dataset__project__organisation")
    return {row.name: row.dataset_version for row in rows}
