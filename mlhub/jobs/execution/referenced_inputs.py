# SPDX-License-Identifier: Apache-2.0
"""Which files the jobs of a project may still read: what else nodes cached for them is of data that was deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from uuid import UUID

from django.db.models import F, Q

from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.models import FurtherDataset, Job
from mlhub.registry.models import ModelVersion
from mlhub.storage.models import Holding
from mlhub.tenants.models import Project

OF_CODE = [
    f"{owner}{blob}" for owner in ("", "code_version__") for blob in ("package", "weights", "environment__layer")
]

Hashes = dict[UUID, set[str]]  # by the id of a project, or of a version


def referenced_inputs(project: Project, sha256s: Collection[str]) -> set[str]:
    """Those of the hashes that the project still refers to: as inputs_referenced_by()."""
    return inputs_referenced_by([project], {project.pk: sha256s})[project.pk]


def inputs_referenced_by(projects: Collection[Project], asked: Mapping[UUID, Collection[str]]) -> Hashes:
    """Of the hashes that are asked about of each project, those that it still refers to: blobs that it holds, that its
    organisation holds for all projects, and those of other projects' data and code that its jobs are on.

    At most six queries, however many projects there are.
    """
    wanted = {project.pk: set(asked.get(project.pk, ())) for project in projects}
    found = _held(projects, wanted)
    left = {project: more for project, sha256s in wanted.items() if (more := sha256s - found[project])}
    if left:
        of_others = _of_others(left)
        for project, sha256s in left.items():
            found[project] |= sha256s & of_others[project]
    return found


def _held(projects: Collection[Project], wanted: Mapping[UUID, set[str]]) -> Hashes:
    organisation_of = {project.pk: project.organisation_id for project in projects}
    organisations = set(organisation_of.values())
    rows = Holding.objects.filter(
        Q(project__in=organisation_of) | Q(project=None, organisation__in=organisations),
        blob__in=set().union(*wanted.values()),
    ).values_list("organisation", "project", "blob")
    own: Hashes = defaultdict(set)
    common: Hashes = defaultdict(set)
    for organisation, project, sha256 in rows:
        (common[organisation] if project is None else own[project]).add(sha256)
    return {pk: wanted[pk] & (own[pk] | common[organisation]) for pk, organisation in organisation_of.items()}


def _of_others(projects: Collection[UUID]) -> Hashes:
    on_data = {
        *Job.objects.filter(project__in=projects, dataset_version__isnull=False)
        .exclude(dataset_version__dataset__project=F("project"))
        .values_list("project", "dataset_version")
        .order_by()
        .distinct(),
        *FurtherDataset.objects.filter(job__project__in=projects)
        .exclude(dataset_version__dataset__project=F("job__project"))
        .values_list("job__project", "dataset_version")
        .order_by()
        .distinct(),
    }
    on_code = (
        Job.objects.filter(project__in=projects)
        .exclude(model_version__model__project=F("project"))
        .values_list("project", "model_version")
        .order_by()
        .distinct()
    )
    found: Hashes = defaultdict(set)
    for pairs, files_of in ((on_data, _files_of_data), (set(on_code), _files_of_code)):
        files = files_of({version for _, version in pairs})
        for project, version in pairs:
            found[project] |= files.get(version, set())
    return found


def _files_of_data(versions: Collection[UUID]) -> Hashes:
    rows = DatasetVersion.objects.filter(pk__in=versions).values_list("pk", "files")
    return {pk: {file["sha256"] for file in files} for pk, files in rows}


def _files_of_code(versions: Collection[UUID]) -> Hashes:
    rows = ModelVersion.objects.filter(pk__in=versions).values_list("pk", *OF_CODE)
    return {pk: {sha256 for sha256 in row if sha256 is not None} for pk, *row in rows}
