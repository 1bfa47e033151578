# SPDX-License-Identifier: Apache-2.0
"""Which files the jobs of a project may still read: what else nodes cached for them is of data that was deleted."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q

from mlhub.datasets.models import DatasetVersion
from mlhub.registry.models import ModelVersion
from mlhub.storage.models import Holding
from mlhub.tenants.models import Project

OF_CODE = [
    f"{owner}{blob}" for owner in ("", "code_version__") for blob in ("package", "weights", "environment__layer")
]


def referenced_inputs(project: Project, sha256s: Collection[str]) -> set[str]:
    """Those of the hashes that the project still refers to: blobs that it holds, that its organisation holds for all
    projects, and those of other projects' data and code that its jobs are on."""
    held = Holding.objects.filter(
        Q(project=project) | Q(project=None, organisation=project.organisation_id), blob__in=sha256s
    )
    found = set(held.values_list("blob", flat=True))
    if left := set(sha256s) - found:
        found |= left & _of_others(project)
    return found


def _of_others(project: Project) -> set[str]:
    of_jobs = Q(jobs__project=project) | Q(further_jobs__job__project=project)
    data = DatasetVersion.objects.exclude(dataset__project=project).filter(of_jobs)
    found = {file["sha256"] for files in data.values_list("files", flat=True).distinct() for file in files}
    code = ModelVersion.objects.exclude(model__project=project).filter(jobs__project=project)
    for row in code.values_list(*OF_CODE).distinct():
        found.update(sha256 for sha256 in row if sha256 is not None)
    return found
