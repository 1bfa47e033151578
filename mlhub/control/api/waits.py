# SPDX-License-Identifier: Apache-2.0
"""How long jobs waited in the last 24 hours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control.monitoring.waits import WaitScope, waits_as_seen_by
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class WaitsSerializer(serializers.Serializer[Any]):
    median_s = serializers.FloatField(
        allow_null=True, help_text="The median of the seconds from submission to the first step; null: not known."
    )
    n_jobs = serializers.IntegerField(help_text="The jobs that it is of.")
    scope = serializers.ChoiceField(
        choices=[str(scope) for scope in WaitScope],
        help_text="visible: of jobs that the caller sees; cluster: of all, where the caller sees none that started "
        "and enough jobs of enough organisations did.",
    )
    since = serializers.DateTimeField(help_text="From when on these jobs made their first step.")


class WaitsView(APIView):
    @extend_schema(responses=WaitsSerializer)
    def get(self, request: Request) -> Response:
        """The median wait of jobs that made their first step in the last 24 hours."""
        return Response(WaitsSerializer(waits_as_seen_by(caller(request), now=timezone.now())).data)
