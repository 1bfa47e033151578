# SPDX-License-Identifier: Apache-2.0
"""Studies: create, list, look, clone, extend, pause, resume, stop, delete; their trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response

from mlhub.core.api.views import AddressedView, DeferredJoinMixin, read_body
from mlhub.experiments import actions
from mlhub.experiments.algorithms.importance import FEWEST, METHOD, importance
from mlhub.experiments.algorithms.space import Options
from mlhub.experiments.api import serializers as s
from mlhub.experiments.api.requests import StudyCloneSerializer, StudyCreateSerializer, StudyExtendSerializer
from mlhub.experiments.cloning import clone_study
from mlhub.experiments.extension import Addition, extend_study
from mlhub.experiments.models import Study, Trial
from mlhub.experiments.records import rules_of
from mlhub.jobs.api.views import SUBMISSIONS, dataset_version_of, model_version_of, project_of
from mlhub.tenants.models import Organisation, Project
from mlhub.tenants.named import NamedFilter
from mlhub.tenants.refs import RefFilter
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class StudyFilter(django_filters.FilterSet):
    project = NamedFilter(Project, help_text="Only those of this project, by id or name.")
    organisation = NamedFilter(
        Organisation, "project__organisation", help_text="Only those of this organisation, by id or name."
    )
    state = django_filters.MultipleChoiceFilter(choices=s.STUDY_STATES, help_text="Only those in one of these states.")
    name = django_filters.CharFilter(help_text="Only those of exactly this name.")
    dataset_version = django_filters.UUIDFilter(
        "dataset_version_id", help_text="Only those whose trials read this dataset version."
    )
    ref = RefFilter()

    class Meta:
        model = Study
        fields: list[str] = []


class StudiesView(DeferredJoinMixin, generics.ListAPIView[Study]):
    """The studies that the caller may see, the newest first."""

    queryset = Study.objects.with_what_is_shown()
    serializer_class = s.StudySerializer
    filterset_class = StudyFilter
    rate_limit_budgets = {"POST": SUBMISSIONS}
    is_submission = True

    @extend_schema(request=StudyCreateSerializer, responses={201: s.StudySerializer})
    def post(self, request: Request) -> Response:
        """Creates a study, which submits its first jobs in a moment. 422 names what no trial could run with."""
        body = read_body(StudyCreateSerializer, request)
        user, job = caller(request), dict(body.pop("job"))
        dataset_version = dataset_version_of(user, job)
        model_version = model_version_of(user, job)
        project = project_of(user, job)
        job.pop("kind", None)
        study = actions.create_study(
            project,
            dataset_version=dataset_version,
            model_version=model_version,
            settings=job,
            actor=user,
            **body,
        )
        return Response(shown(study), status=status.HTTP_201_CREATED)


class StudyView(DeferredJoinMixin, generics.RetrieveAPIView[Study]):
    """One study, with its search space and how far it is."""

    queryset = Study.objects.with_what_is_shown()
    serializer_class = s.StudySerializer

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """One that has ended, with its trials; their jobs and models stay. 409 while it is live."""
        actions.delete_study(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TrialsView(AddressedView, generics.ListAPIView[Trial]):
    """All trials of the study, by number."""

    queryset = Trial.objects.all()
    serializer_class = s.TrialSerializer
    pagination_class = None
    filter_backends: list[Any] = []

    def get_queryset(self) -> QuerySet[Trial]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        study = Study.objects.get_visible(self.request.user, self.kwargs["id"])
        return super().get_queryset().filter(study=study).order_by("number")


class StudyActionView(AddressedView, generics.GenericAPIView[Study]):
    """One verb on one study."""

    serializer_class: Any = s.StudySerializer
    queryset = Study.objects.all()

    def study(self, request: Request) -> Study:
        studies = Study.objects.select_related("project__organisation")
        found: Study = studies.get_visible(request.user, self.kwargs["id"])
        return found


class PauseStudyView(StudyActionView):
    @extend_schema(request=None)
    def post(self, request: Request, **_: Any) -> Response:
        """No new trials; jobs of trials save and leave their GPUs until it is resumed."""
        return Response(shown(actions.pause_study(self.study(request), actor=caller(request))))


class ResumeStudyView(StudyActionView):
    @extend_schema(request=None)
    def post(self, request: Request, **_: Any) -> Response:
        """Goes on where it was paused."""
        return Response(shown(actions.resume_study(self.study(request), actor=caller(request))))


class StopStudyView(StudyActionView):
    @extend_schema(request=None)
    def post(self, request: Request, **_: Any) -> Response:
        """Ends the study for good and cancels jobs of its trials; asked again it changes nothing."""
        return Response(shown(actions.stop_study(self.study(request), actor=caller(request))))


class ExtendStudyView(StudyActionView):
    @extend_schema(request=StudyExtendSerializer)
    def post(self, request: Request, **_: Any) -> Response:
        """Adds to the budget; a study that used its budget up goes on. Each call adds. 409 where it cannot go on."""
        addition = Addition(**read_body(StudyExtendSerializer, request))
        return Response(shown(extend_study(self.study(request), addition, actor=caller(request))))


class CloneStudyView(StudyActionView):
    rate_limit_budgets = {"POST": SUBMISSIONS}
    is_submission = True

    @extend_schema(request=StudyCloneSerializer, responses={201: s.StudySerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """A new study with the same request, but for the fields in the body."""
        body = read_body(StudyCloneSerializer, request)
        user, study = caller(request), self.study(request)
        job = {"project": study.project_id, **body.pop("job", {})}
        if "dataset" in job or "dataset_version" in job:
            body["dataset_version"] = dataset_version_of(user, job)
        if "model" in job or "model_version" in job:
            body["model_version"] = model_version_of(user, job)
        job.pop("project", None)
        return Response(shown(clone_study(study, settings=job, actor=user, **body)), status=status.HTTP_201_CREATED)


class ImportanceView(StudyActionView):
    serializer_class = s.ImportanceSerializer

    def get(self, request: Request, **_: Any) -> Response:
        """How much each hyperparameter matters, by the trials' results at the first rung."""
        study = self.study(request)
        rules = rules_of(study)
        tried = [
            (trial.parameters, rules.score(trial.results[0]["value"]))
            for trial in study.trials.order_by("number")
            if trial.results
        ]
        space = rules.space.parameters
        columns = {name: [parameters.get(name) for parameters, _ in tried] for name in space}
        choices = frozenset(name for name, values in space.items() if isinstance(values, Options))
        found = importance(columns, [score for _, score in tried], choices=choices)
        body = {
            "method": METHOD,
            "epochs": study.rungs[0],
            "n_trials": len(tried),
            "needed": FEWEST,
            "parameters": [{"name": name, "share": each.share} for name, each in found.items()],
        }
        return Response(s.ImportanceSerializer(body).data)


def shown(study: Study) -> dict[str, Any]:
    """The study's JSON, freshly read."""
    return s.StudySerializer(Study.objects.with_what_is_shown().get(pk=study.pk)).data
