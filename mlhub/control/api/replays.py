# SPDX-License-Identifier: Apache-2.0
"""The policy lab's addresses: replays of the platform's history or of a trace, for platform administrators."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response

from mlhub.control.api import replay_serializers as s
from mlhub.control.models import PolicyReplay
from mlhub.control.policy_lab import actions
from mlhub.core.api.views import AnyAccept, read_body
from mlhub.tenants.access_control.permissions import IsPlatformAdministrator
from mlhub.tenants.sign_in.authentication import caller
from mlhub.usage.api.views import cell

if TYPE_CHECKING:
    from rest_framework.request import Request

USUAL_PERIOD = timedelta(days=1)


class ReplaysView(generics.ListAPIView[PolicyReplay]):
    """Replays of the policy lab, newest first. They are kept for MLHUB_KEEP_REPLAYS_DAYS."""

    queryset = PolicyReplay.objects.defer("trace", "job_rows", "result").select_related("created_by")
    serializer_class = s.ReplaySerializer
    permission_classes = [IsPlatformAdministrator]
    filter_backends = []

    @extend_schema(request=s.ReplayCreateSerializer, responses={202: s.ReplaySerializer})
    def post(self, request: Request) -> Response:
        """Simulates a period of the platform's history, by default the last day, or a trace under other policies.

        The policy that ran is always simulated, too. 422 names the field, of a trace also the row."""
        body = read_body(s.ReplayCreateSerializer, request)
        trace = body.get("trace", {})
        until = body.get("until") or timezone.now()
        replay = actions.create_replay(
            actor=caller(request),
            policies=body["policies"],
            since=body.get("since") or until - USUAL_PERIOD,
            until=until,
            trace_name=trace.get("name", ""),
            trace=trace.get("text", ""),
            name=body.get("name", ""),
        )
        return Response(s.ReplaySerializer(replay).data, status=status.HTTP_202_ACCEPTED)


class ReplayView(generics.RetrieveAPIView[PolicyReplay]):
    """A replay with its figures; for platform administrators."""

    queryset = PolicyReplay.objects.defer("trace", "job_rows").select_related("created_by")
    serializer_class = s.ReplayDetailSerializer
    permission_classes = [IsPlatformAdministrator]
    lookup_field = "id"


class ReplayCancelView(generics.GenericAPIView[PolicyReplay]):
    queryset = PolicyReplay.objects.defer("trace", "job_rows", "result").select_related("created_by")
    serializer_class = s.ReplaySerializer
    permission_classes = [IsPlatformAdministrator]
    lookup_field = "id"

    @extend_schema(request=None, responses={202: s.ReplaySerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Cancels a replay that waits or runs; it ends within seconds. 409 when it has ended."""
        found = actions.cancel_replay(self.get_object(), actor=caller(request))
        return Response(s.ReplaySerializer(found).data, status=status.HTTP_202_ACCEPTED)


class ReplayExportView(generics.GenericAPIView[PolicyReplay]):
    queryset = PolicyReplay.objects.defer("trace")
    permission_classes = [IsPlatformAdministrator]
    content_negotiation_class = AnyAccept
    lookup_field = "id"

    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, **_: Any) -> HttpResponse:  # noqa: ARG002 (DRF's signature)
        """Every job with its completion time in seconds, as it really was and under each policy, as a CSV file."""
        replay = self.get_object()
        labels = [row["label"] for row in (replay.result or {}).get("policies", ())]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        names = ["job", "name", "organisation", "submitted_at_s", "real_jct_s"]
        writer.writerow([*names, *(f"jct_s of {label}" for label in labels)])
        for row in replay.job_rows:
            cells = [*(row[name] for name in names), *(row["jct_s"].get(label) for label in labels)]
            writer.writerow(["" if value is None else cell(value) for value in cells])
        headers = {"Content-Disposition": f'attachment; filename="replay-{replay.created_at:%Y%m%d-%H%M%S}.csv"'}
        return HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)
