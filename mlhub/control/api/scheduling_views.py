# SPDX-License-Identifier: Apache-2.0
"""The queue, rounds, and the scheduler's settings, status and forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.db.models import Case, IntegerField, Value, When
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control import actions
from mlhub.control.api import scheduling as s
from mlhub.control.api.admission_pause import admission
from mlhub.control.api.insight import InsightSerializer
from mlhub.control.api.scheduling import MOST_QUEUE
from mlhub.control.learning.restart_costs import costs_of_newest
from mlhub.control.models import Round, SchedulerSettings
from mlhub.control.monitoring import status
from mlhub.control.monitoring.calibration import (
    calibration,
    calibration_by_cause,
    calibration_by_organisation,
    newest_ends,
)
from mlhub.control.monitoring.recent_rounds import recent_rounds
from mlhub.core.api.fields import FIELDS, named_fields, only_fields
from mlhub.core.api.views import read_body, read_query
from mlhub.jobs.models import Job
from mlhub.tenants.access_control.permissions import IsPlatformAdministrator, require_administrator
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request

N_ENDS = 20
N_FAMILIES = 20
UNSEEN = 2**31 - 1  # the place of a job that no round has seen: after all others


class QueueView(APIView):
    @extend_schema(
        parameters=[s.QueueQuerySerializer, FIELDS],
        responses=s.QueueSerializer,
    )
    def get(self, request: Request) -> Response:
        """Jobs that wait, in the order in which the scheduler serves them, each with the newest round's reasons."""
        query = read_query(s.QueueQuerySerializer, request)
        limit, after = min(query["limit"], MOST_QUEUE), query["after"]
        places = status.places()
        waiting = Job.objects.visible_to(request.user).queued()
        if organisation := query.get("organisation"):
            waiting = waiting.filter(project__organisation=organisation)
        if owner := query.get("owner"):
            waiting = waiting.filter(created_by__username=owner)
        if (gpu_type := query.get("gpu_type")) is not None:
            waiting = status.that_may_use(gpu_type, waiting)
        ids = sorted(waiting.values_list("id", flat=True), key=lambda id: (places.get(str(id), UNSEEN), str(id)))
        ids = [id for id in ids if places.get(str(id), UNSEEN) > after]
        rank = Case(*(When(pk=id, then=Value(i)) for i, id in enumerate(ids[:limit])), output_field=IntegerField())
        shown = Job.objects.with_what_is_shown().filter(pk__in=ids[:limit]).order_by(rank) if ids else []
        following = None
        if len(ids) > limit and (last := places.get(str(ids[limit - 1]))) is not None:
            beyond = {**request.query_params.dict(), "after": str(last)}
            following = request.build_absolute_uri(f"{request.path}?{urlencode(beyond)}")
        rows: Any = s.QueuedJobSerializer(list(shown), many=True, context={"places": places})
        only_fields(rows.child, named_fields(request.query_params.get("fields")))
        return Response({"next": following, "previous": None, "results": rows.data})


class RoundsView(generics.ListAPIView[Round]):
    """What the scheduler decided, newest first. Rounds name all tenants' jobs, so others than platform administrators
    must name a job of theirs, and see only what was done to it."""

    serializer_class = s.RoundSerializer
    filter_backends = []

    @extend_schema(parameters=[s.RoundsQuerySerializer])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        if self._job() is None:
            require_administrator(request, self)
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> Any:
        job = self._job()
        if job is not None:
            return status.rounds_about(job)
        return Round.objects.defer("snapshot", "plan").select_related("shadow")

    def get_serializer_context(self) -> dict[str, Any]:
        job = self._job()
        return {**super().get_serializer_context(), "job_id": str(job.id) if job else None}

    def _job(self) -> Job | None:
        job_id = read_query(s.RoundsQuerySerializer, self.request).get("job") if self.request else None
        if job_id is None:
            return None
        found: Job = Job.objects.get_visible(self.request.user, job_id, field="job")
        return found


class RoundView(generics.RetrieveAPIView[Round]):
    """A round with its snapshot and its plan; for platform administrators."""

    queryset = Round.objects.select_related("shadow")
    serializer_class = s.RoundDetailSerializer
    permission_classes = [IsPlatformAdministrator]
    lookup_field = "id"


class SchedulerSettingsView(APIView):
    @extend_schema(responses=s.SchedulerSettingsSerializer)
    def get(self, request: Request) -> Response:  # noqa: ARG002 (DRF's signature)
        """The policy that decides, its parameters, and what there is to choose from."""
        chosen, _ = SchedulerSettings.objects.get_or_create(pk=1)
        return Response(s.SchedulerSettingsSerializer(chosen).data)

    @extend_schema(request=s.SchedulerChangeSerializer, responses=s.SchedulerSettingsSerializer)
    def patch(self, request: Request) -> Response:
        """Platform administrators only; counts from the next round on. 422 names an unknown policy or parameter."""
        require_administrator(request, self)
        body = read_body(s.SchedulerChangeSerializer, request)
        return Response(s.SchedulerSettingsSerializer(actions.set_scheduler(actor=caller(request), **body)).data)


class SchedulerStatusView(APIView):
    @extend_schema(responses=s.SchedulerStatusSerializer)
    def get(self, request: Request) -> Response:
        """How the scheduler does: what decides, when the last round was, whether something failed."""
        user = caller(request)
        return Response(s.SchedulerStatusSerializer({**status.status(user), "admission": admission(user)}).data)


class InsightView(APIView):
    permission_classes = [IsPlatformAdministrator]

    @extend_schema(responses=InsightSerializer)
    def get(self, request: Request) -> Response:  # noqa: ARG002 (DRF's signature)
        """How forecasts came true, what restarts cost, and what the shadow would do. Platform administrators only."""
        found = {
            "calibration": calibration(),
            "calibration_by_organisation": calibration_by_organisation(),
            "calibration_by_cause": calibration_by_cause(),
            "ends": newest_ends(N_ENDS),
            "costs": costs_of_newest(N_FAMILIES),
            "rounds": recent_rounds(now=timezone.now()),
            "shadow": status.shadow_summary(),
        }
        return Response(InsightSerializer(found).data)
