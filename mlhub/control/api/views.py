"""The cluster, quotas and their use, the queue and its reasons; rounds and settings for administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control import actions, reads
from mlhub.control.api import serializers as s
from mlhub.control.models import Round, SchedulerSettings
from mlhub.core.api.views import VisibleMixin, read_body
from mlhub.jobs.api.serializers import JobSerializer
from mlhub.jobs.models import Job
from mlhub.tenants.actions import UNCHANGED, set_quota
from mlhub.tenants.authentication import caller
from mlhub.tenants.models import Organisation, Quota
from mlhub.tenants.permissions import IsPlatformAdministrator

if TYPE_CHECKING:
    from rest_framework.request import Request


class ClusterView(APIView):
    @extend_schema(responses=s.ClusterSerializer)
    def get(self, request: Request) -> Response:
        """Racks, nodes, slots, and who is on them; jobs of other organisations have no names."""
        return Response(s.ClusterSerializer(reads.cluster_as_seen_by(caller(request))).data)


class QuotaView(APIView):
    @extend_schema(responses=s.QuotaSerializer)
    def get(self, request: Request, id: str) -> Response:
        """The organisation's limits, and what it uses of them."""
        return Response(_quota(_organisation(request, id)))

    @extend_schema(request=s.QuotaChangeSerializer, responses=s.QuotaSerializer)
    def patch(self, request: Request, id: str) -> Response:
        """Platform administrators only; counts from the next scheduling round on."""
        organisation = _organisation(request, id)
        _require_administrator(request, self)
        body = read_body(s.QuotaChangeSerializer, request)
        limits = {name: body.get(name, UNCHANGED) for name in ("max_gpus", "max_running_jobs", "max_storage_bytes")}
        set_quota(organisation, **limits, version=body.get("version"), actor=caller(request))
        return Response(_quota(organisation))


class WhyView(APIView):
    @extend_schema(responses=s.WhySerializer)
    def get(self, request: Request, id: str) -> Response:
        """Why the job waits, runs or has failed, in words and numbers."""
        job: Job = Job.objects.get_visible(request.user, id)
        return Response(s.WhySerializer(reads.why(job)).data)


class QueueView(VisibleMixin, generics.ListAPIView[Job]):
    """Jobs that wait, each with the reasons of the newest round; newest first, as all lists."""

    queryset = Job.objects.with_what_is_shown().queued()
    serializer_class = JobSerializer
    filter_backends = []


class RoundsView(generics.ListAPIView[Round]):
    """What the scheduler decided, newest first. Platform administrators only: rounds name everybody's jobs."""

    queryset = Round.objects.defer("snapshot", "plan")
    serializer_class = s.RoundSerializer
    permission_classes = [IsPlatformAdministrator]
    filter_backends = []


class RoundView(generics.RetrieveAPIView[Round]):
    queryset = Round.objects.all()
    serializer_class = s.RoundDetailSerializer
    permission_classes = [IsPlatformAdministrator]
    lookup_field = "id"


class SchedulerSettingsView(APIView):
    @extend_schema(responses=s.SchedulerSettingsSerializer)
    def get(self, request: Request) -> Response:  # noqa: ARG002 (DRF's signature)
        """The policy that decides, and its parameters."""
        chosen, _ = SchedulerSettings.objects.get_or_create(pk=1)
        return Response(s.SchedulerSettingsSerializer(chosen).data)

    @extend_schema(request=s.SchedulerChangeSerializer, responses=s.SchedulerSettingsSerializer)
    def patch(self, request: Request) -> Response:
        """Platform administrators only; counts from the next round on. 422 names an unknown policy or parameter."""
        _require_administrator(request, self)
        body = read_body(s.SchedulerChangeSerializer, request)
        chosen = actions.set_scheduler(
            policy=body.get("policy"), parameters=body.get("parameters"), actor=caller(request)
        )
        return Response(s.SchedulerSettingsSerializer(chosen).data)


def _organisation(request: Request, id: str) -> Organisation:
    found: Organisation = Organisation.objects.get_visible(request.user, id)
    return found


def _require_administrator(request: Request, view: APIView) -> None:
    if not IsPlatformAdministrator().has_permission(request, view):
        raise PermissionDenied("Only platform administrators may do this.")


def _quota(organisation: Organisation) -> dict[str, Any]:
    quota, _ = Quota.objects.get_or_create(organisation=organisation)
    quota.used = reads.used_by(organisation)  # type: ignore[attr-defined]
    return s.QuotaSerializer(quota).data
