# SPDX-License-Identifier: Apache-2.0
"""The lineage of a model version: what it was made from and by which job, and which jobs used it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.models import Job
from mlhub.registry.models import ModelVersion

if TYPE_CHECKING:
    from mlhub.tenants.models import User

MAX_USERS = 50  # jobs that used the version; older ones are counted


class NodeKind(StrEnum):
    DATASET_VERSION = "dataset_version"
    MODEL_VERSION = "model_version"
    JOB = "job"


@dataclass(frozen=True)
class LineageNode:
    """number and parent_id: of versions, with the id of the dataset or model. job_kind and state: of jobs."""

    id: UUID
    kind: NodeKind
    name: str
    number: int | None = None
    parent_id: UUID | None = None
    job_kind: str = ""
    state: str = ""


@dataclass(frozen=True)
class LineageEdge:
    """What was used or made: from a version to the job that read it, or from a job to the version that it made."""

    source: UUID
    target: UUID


@dataclass
class Lineage:
    """n_left_out: jobs that used the version and are older than the newest MAX_USERS."""

    version: UUID
    nodes: dict[UUID, LineageNode] = field(default_factory=dict)
    edges: list[LineageEdge] = field(default_factory=list)
    n_left_out: int = 0

    def connect(self, source: LineageNode, target: LineageNode) -> None:
        self.nodes.setdefault(source.id, source)
        self.nodes.setdefault(target.id, target)
        edge = LineageEdge(source.id, target.id)
        if edge not in self.edges:
            self.edges.append(edge)


def lineage_of(version: ModelVersion, *, user: User) -> Lineage:
    """One step back and one step on from the version, of what the user may see; in at most seven queries."""
    own = _of_model(version)
    found = Lineage(version.pk, nodes={version.pk: own})
    maker = _maker(version, user)
    producer = own if maker is None else _of_job(maker)
    for source in _sources(version, maker, user):
        found.connect(source, producer)
    if maker is not None:
        found.connect(producer, own)
    _add_users(found, version, user)
    return found


def _maker(version: ModelVersion, user: User) -> Job | None:
    """The job that made the version, or of whose checkpoint it is; None for code, and once the job was deleted."""
    job_id = version.job_id or version.metadata.get("checkpoint", {}).get("job")
    found: Job | None = None if job_id is None else Job.objects.visible_to(user).filter(pk=job_id).first()
    return found


def _sources(version: ModelVersion, maker: Job | None, user: User) -> list[LineageNode]:
    """The dataset versions, the code and the weights that the training began with."""
    data, models = {version.dataset_version_id}, {version.code_version_id}
    if maker is not None:
        data |= {maker.dataset_version_id, *maker.further_datasets.values_list("dataset_version_id", flat=True)}
        models.add(maker.model_version_id)
    datasets = DatasetVersion.objects.visible_to(user).filter(pk__in=data - {None}).select_related("dataset")
    versions = ModelVersion.objects.visible_to(user).filter(pk__in=models - {None, version.pk}).select_related("model")
    return [_of_dataset(d) for d in datasets.order_by("pk")] + [_of_model(m) for m in versions.order_by("pk")]


def _add_users(lineage: Lineage, version: ModelVersion, user: User) -> None:
    users = Job.objects.visible_to(user).filter(model_version=version)
    newest = list(users.select_related("result_version__model").order_by("-pk")[:MAX_USERS])
    if len(newest) == MAX_USERS:
        lineage.n_left_out = users.count() - MAX_USERS
    for job in newest:
        node = _of_job(job)
        lineage.connect(lineage.nodes[version.pk], node)
        if job.result_version is not None:
            lineage.connect(node, _of_model(job.result_version))


def _of_job(job: Job) -> LineageNode:
    return LineageNode(job.pk, NodeKind.JOB, job.name, job_kind=job.kind, state=job.state)


def _of_model(version: ModelVersion) -> LineageNode:
    return LineageNode(version.pk, NodeKind.MODEL_VERSION, version.model.name, version.number, version.model_id)


def _of_dataset(version: DatasetVersion) -> LineageNode:
    name = version.dataset.name
    return LineageNode(version.pk, NodeKind.DATASET_VERSION, name, version.number, version.dataset_id)
