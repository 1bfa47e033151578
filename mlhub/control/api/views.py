"""The cluster, and quotas and their use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control import reads
from mlhub.control.api import serializers as s
from mlhub.core.api.views import read_body
from mlhub.tenants.actions import UNCHANGED, set_quota
from mlhub.tenants.authentication import caller
from mlhub.tenants.models import Organisation, Quota
from mlhub.tenants.permissions import require_administrator

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
        require_administrator(request, self)
        body = read_body(s.QuotaChangeSerializer, request)
        limits = {name: body.get(name, UNCHANGED) for name in ("max_gpus", "max_running_jobs", "max_storage_bytes")}
        set_quota(organisation, **limits, version=body.get("version"), actor=caller(request))
        return Response(_quota(organisation))


def _organisation(request: Request, id: str) -> Organisation:
    found: Organisation = Organisation.objects.get_visible(request.user, id)
    return found


def _quota(organisation: Organisation) -> dict[str, Any]:
    quota, _ = Quota.objects.get_or_create(organisation=organisation)
    quota.used = reads.used_by(organisation)  # type: ignore[attr-defined]
    return s.QuotaSerializer(quota).data
