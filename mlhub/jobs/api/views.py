# SPDX-License-Identifier: Apache-2.0
"""Jobs: submit, list, look, change one's mind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Q
from django.http import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, status
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from mlhub.core.api.fields import FIELDS, named_fields
from mlhub.core.api.views import AddressedView, AnyAccept, DeferredJoinMixin, VisibleMixin, read_body
from mlhub.core.errors import GoneError, InvalidInputError, NotFoundError
from mlhub.core.paging.keyset import SortedPage
from mlhub.datasets.models import Dataset, DatasetVersion, VersionState
from mlhub.jobs import actions
from mlhub.jobs.annotations import annotate_job
from mlhub.jobs.api import serializers as s
from mlhub.jobs.api.further_datasets import further_datasets_of
from mlhub.jobs.api.job_list import SORT_KEYS, JobFilter
from mlhub.jobs.api.requests import JobChangeSerializer, JobCloneSerializer, JobSubmitSerializer
from mlhub.jobs.api.strategy_serializers import StrategySerializer
from mlhub.jobs.api.version_names import version_named
from mlhub.jobs.cursor import cursor_of
from mlhub.jobs.live import note_live_members
from mlhub.jobs.models import Artifact, Attempt, Job, JobKind
from mlhub.jobs.retention.deletion import delete_job, deletion_of
from mlhub.jobs.states import predicate
from mlhub.jobs.submission.changes import change_job
from mlhub.jobs.submission.predictions import model_version_of_job
from mlhub.jobs.submission.strategies import strategies
from mlhub.registry.builtin_models import notebook_version
from mlhub.registry.models import Model, ModelVersion
from mlhub.registry.querysets import of_notebook
from mlhub.storage.downloads import blob_response
from mlhub.tenants.models import Project, User
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rest_framework.request import Request

KEY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="The same key and body give the same job."
)
SUBMISSIONS = "submissions"  # the budget of requests that make a job


class StrategiesView(APIView):
    @extend_schema(responses=StrategySerializer(many=True), filters=False)
    def get(self, request: Request) -> Response:  # noqa: ARG002 (DRF's signature)
        """How workers may agree on one model: what a job's `strategy` may name."""
        return Response(strategies())


class JobsView(DeferredJoinMixin, generics.ListAPIView[Job]):
    queryset = Job.objects.with_what_is_shown()
    serializer_class = s.JobSerializer
    filterset_class = JobFilter
    pagination_class = SortedPage
    sort_keys = SORT_KEYS
    rate_limit_budgets = {"POST": SUBMISSIONS}
    is_submission = True

    @extend_schema(parameters=[FIELDS])
    def get(self, request: Request, **_: Any) -> Response:
        """The jobs that the caller may see, the newest first, or sorted and filtered as the query says."""
        members = named_fields(request.query_params.get("fields"))
        page = list(self.paginate_queryset(self.filter_queryset(self.get_queryset())) or [])
        note_live_members(page, members)
        return self.get_paginated_response(s.jobs_json(page, members))

    @extend_schema(parameters=[KEY], request=JobSubmitSerializer, responses={201: s.JobSerializer})
    def post(self, request: Request) -> Response:
        """Submits a job. 422 names what can never run, 409 what is not ready yet."""
        received_at = timezone.now()
        return Response(shown_submitted(self._submit(request, received_at)), status=status.HTTP_201_CREATED)

    def _submit(self, request: Request, received_at: datetime) -> Job:
        body = read_body(JobSubmitSerializer, request)
        user = caller(request)
        dataset_version = dataset_version_of(user, body)
        if "datasets" in body:
            body["datasets"] = further_datasets_of(user, body["datasets"], project=body["project"])
        if body.get("kind") == JobKind.NOTEBOOK:
            model_version = notebook_version()
        elif (job_id := body.pop("model_of", None)) is not None:
            model_version = model_version_of_job(user, job_id)
        else:
            model_version = model_version_of(user, body)
        project = project_of(user, body)
        key = request.headers.get("Idempotency-Key", "")
        if len(key) > 255:
            raise InvalidInputError(
                "The Idempotency-Key is too long.", field="Idempotency-Key", remedy="Use at most 255 characters."
            )
        return actions.submit_job(
            project,
            dataset_version=dataset_version,
            model_version=model_version,
            idempotency_key=key,
            received_at=received_at,
            actor=user,
            **body,
        )


class JobView(DeferredJoinMixin, generics.RetrieveAPIView[Job]):
    """One job, with what it was asked for, its state and the reason for that."""

    queryset = Job.objects.with_what_is_shown().select_related("validation")
    serializer_class = s.JobDetailSerializer

    def get(self, request: Request, **_: Any) -> Response:  # noqa: ARG002 (DRF's signature)
        # the cursor first, so that what happens in between comes once more rather than not at all
        cursor = str(cursor_of(self.kwargs["id"]))
        return Response(s.job_detail_json(self.get_object(), cursor))

    @extend_schema(request=JobChangeSerializer, responses=s.JobSerializer)
    def patch(self, request: Request, **_: Any) -> Response:
        """Changes its priority or what it asks of the cluster, which the next scheduling round sees; tags and notes."""
        changes = read_body(JobChangeSerializer, request)
        written = {name: changes.pop(name) for name in ("tags", "notes") if name in changes}
        job, actor = self.get_object(), caller(request)
        with transaction.atomic():
            if written:
                annotate_job(job, actor=actor, **written)
            if changes:
                change_job(job, actor=actor, **changes)
        return Response(shown(job))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """With its curves, log, predictions and checkpoints; the model that it trained stays. 409 while it is live."""
        delete_job(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class JobActionView(AddressedView, generics.GenericAPIView[Job]):
    """One verb on one job."""

    serializer_class: type[BaseSerializer[Any]] = s.JobSerializer

    def job(self, request: Request) -> Job:
        found: Job = Job.objects.select_related(
            "project__organisation", "dataset_version__dataset__project", "model_version__model__project"
        ).get_visible(request.user, self.kwargs["id"])
        return found


class CancelView(JobActionView):
    @extend_schema(request=None)
    def post(self, request: Request, **_: Any) -> Response:
        """Ends the job for good; asked again it changes nothing."""
        return Response(shown(actions.cancel_job(self.job(request), actor=caller(request))))


class PauseView(JobActionView):
    @extend_schema(request=None)
    def post(self, request: Request, **_: Any) -> Response:
        """Saves and leaves the GPUs until it is resumed."""
        return Response(shown(actions.pause_job(self.job(request), actor=caller(request))))


class ResumeView(JobActionView):
    @extend_schema(request=None)
    def post(self, request: Request, **_: Any) -> Response:
        """Back to the queue, to go on from the last checkpoint."""
        return Response(shown(actions.resume_job(self.job(request), actor=caller(request))))


class CloneView(JobActionView):
    rate_limit_budgets = {"POST": SUBMISSIONS}
    is_submission = True

    @extend_schema(request=JobCloneSerializer, responses={201: s.JobSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """A new job with the same request, but for the fields in the body."""
        overrides = read_body(JobCloneSerializer, request)
        job = actions.clone_job(self.job(request), actor=caller(request), **overrides)
        return Response(shown_submitted(job), status=status.HTTP_201_CREATED)


class DeletionView(JobActionView):
    @extend_schema(responses=s.DeletionSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """What would go and what would stay if the job were deleted now, or why that is refused."""
        return Response(s.DeletionSerializer(deletion_of(self.job(request), actor=caller(request))).data)


class ResultView(VisibleMixin, generics.GenericAPIView[Job]):
    content_negotiation_class = AnyAccept
    queryset = Job.objects.all()
    serializer_class = s.JobSerializer

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, **_: Any) -> HttpResponseBase:
        """The file of a job that predicted; one byte range, and an entity tag to ask again."""
        job = self.get_object()
        found = Artifact.objects.of_result(job).first()
        if found is None and (removed := job.removed_parts.filter(kind="results").first()):
            raise GoneError(
                f"The predictions of {job.name} were removed {removed.kept_days:g} days after it ended.",
                code="removed",
                remedy="Run the job again: clone it.",
            )
        if found is None:
            reasons = {
                JobKind.TRAIN: "it trains a model, whose weights are downloaded from its version",
                JobKind.EVALUATE: "it gives metrics",
                JobKind.NOTEBOOK: "it is a notebook, whose files are its artifacts",
                JobKind.PREDICT: f"it {predicate(job.state)}",
            }
            raise NotFoundError(f"{job.name} has no file of predictions: {reasons[JobKind(job.kind)]}.")
        return blob_response(request._request, found.blob, filename=f"{job.name}.{found.name.rpartition('.')[2]}")


def shown(job: Job) -> dict[str, Any]:
    """The job's JSON, freshly read."""
    return s.job_json(Job.objects.with_what_is_shown().get(pk=job.pk))


def shown_submitted(job: Job) -> dict[str, Any]:
    """As shown(); a job that was just stored has no attempt and no problem of a dry run, and is not read again."""
    if not job.is_as_stored:
        return shown(job)
    known: Any = job  # what with_what_is_shown() would add
    known.validation_problem = None
    known._prefetched_objects_cache = {"attempts": Attempt.objects.none()}
    return s.job_json(job)


def dataset_version_of(user: User, body: dict[str, Any]) -> DatasetVersion | None:
    """A name is looked for in the project of the request first. The request's project is by default the dataset's.

    None: the request names no dataset, only a project. Raises InvalidInputError where it names neither.
    """
    project = _project_of(user, body) if "project" in body else None
    if "dataset" not in body and "dataset_version" not in body:
        if project is None:
            raise InvalidInputError(
                "Give either dataset or dataset_version.",
                field="dataset",
                remedy="Name a dataset; for a script that needs none, name the project.",
            )
        return None
    near = None if project is None else project.pk
    versions = DatasetVersion.objects.select_related("dataset__project__organisation")
    found: DatasetVersion | None
    if (version_id := body.pop("dataset_version", None)) is not None:
        found = versions.get_visible(user, version_id, field="dataset_version")
    else:
        asked = body.pop("dataset")
        found = _newest_ready_of(project, versions, "dataset", asked)
        found = found or _newest_ready(versions.visible_to(user), "dataset", asked)
        if found is None:
            dataset = Dataset.objects.get_named(user, asked, field="dataset", project=near)
            newest = versions.filter(dataset=dataset).order_by("-number")
            found = newest.filter(state=VersionState.READY).first() or newest.first()
    if found is None:
        raise InvalidInputError("The dataset has no version.", field="dataset", remedy="Upload one.")
    body["project"] = project or found.dataset.project
    return found


def model_version_of(user: User, body: dict[str, Any]) -> ModelVersion:
    """A name is looked for in the project of the request first, then among the built-in models."""
    versions = ModelVersion.objects.select_related("model__project__organisation", "code_version")
    found: ModelVersion | None
    if (version_id := body.pop("model_version", None)) is not None:
        found = versions.get_visible(user, version_id, field="model_version")
    else:
        project, name = _project_of(user, body), body.pop("model")
        if (named := version_named(user, str(name), project)) is not None:
            return named
        uploaded = versions.filter(source="upload")
        found = _newest_ready_of(project, uploaded.exclude(of_notebook("model__")), "model", name)
        found = found or _newest_ready(uploaded.visible_to(user), "model", name)
        if found is None:
            model = Model.objects.get_named(user, name, field="model", project=project.pk)
            newest = uploaded.filter(model=model).order_by("-number")
            found = newest.filter(state=VersionState.READY).first() or newest.first()
            if found is None:
                raise InvalidInputError(
                    f"{model.name} has no code of its own: it holds trained weights.",
                    field="model",
                    remedy=f"Name a version to start from its weights: {model.name}:1, or {model.name}@ and an alias.",
                )
    return found


def _newest_ready_of(project: Project | None, versions: Any, owner: str, asked: UUID | str) -> Any:
    """As _newest_ready(), of what is in that project, which the user may see, or built in. It asks for no more than
    that, since most requests name nothing else, and who sees what costs more than all the rest of the query."""
    if project is None:
        return None
    is_here = Q(**{f"{owner}__project": project})
    if owner == "model":
        is_here |= Q(model__project=None)
    return _newest_ready(versions.filter(is_here), owner, asked)


def _newest_ready(versions: Any, owner: str, asked: UUID | str) -> Any:
    """The newest ready version of the dataset or model of that id, in one query; None for a name, and without one."""
    if isinstance(asked, str):
        return None
    return versions.filter(**{f"{owner}_id": asked}, state=VersionState.READY).order_by("-number").first()


def project_of(user: User, body: dict[str, Any]) -> Project:
    """The project of the request, which dataset_version_of has put there. Takes it out of the body."""
    project = _project_of(user, body)
    del body["project"]
    return project


def _project_of(user: User, body: dict[str, Any]) -> Project:
    """As project_of; it stays in the body, so that it is read once."""
    if not isinstance(body["project"], Project):
        projects = Project.objects.select_related("organisation__quota", "team__quota", "quota")  # their limits
        body["project"] = projects.get_named(user, body["project"], field="project", project=None)
    found: Project = body["project"]
    return found
