# SPDX-License-Identifier: Apache-2.0
"""The cluster."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control.api import serializers as s
from mlhub.control.monitoring import reads
from mlhub.control.observation import maintenance
from mlhub.core.api.views import read_body
from mlhub.tenants.access_control.permissions import require_administrator
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class ClusterView(APIView):
    @extend_schema(responses=s.ClusterSerializer)
    def get(self, request: Request) -> Response:
        """Racks, nodes, slots, and who is on them; jobs of other organisations have no names."""
        return Response(s.ClusterSerializer(reads.cluster_as_seen_by(caller(request))).data)


class NodeClosingView(APIView):
    """Closes a node to MLHub's jobs, or opens it: for platform administrators. Counts from the next round on."""

    verb = ""

    @extend_schema(request=s.ClosingSerializer, responses=s.ClusterSerializer)
    def post(self, request: Request, name: str) -> Response:
        """cordon: nothing new starts there. drain: jobs that will not be done by the deadline move, the rest follow
        then. uncordon: it is open again. Answers with the cluster."""
        require_administrator(request, self)
        body = read_body(s.ClosingSerializer, request)
        actor, now, reason = caller(request), timezone.now(), body.get("reason", "")
        if self.verb == "uncordon":
            maintenance.uncordon(name, actor=actor, now=now)
        elif self.verb == "cordon":
            maintenance.cordon(name, actor=actor, reason=reason, now=now)
        else:
            by = now + timedelta(seconds=body.get("deadline_s", 600))
            maintenance.drain(name, actor=actor, by=by, reason=reason, now=now)
        return Response(s.ClusterSerializer(reads.cluster_as_seen_by(actor)).data)
