# SPDX-License-Identifier: Apache-2.0
"""How long a job took to start, phase by phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AddressedView, read_query
from mlhub.core.errors import NotFoundError
from mlhub.jobs.execution.startup import PHASES, startup_of
from mlhub.jobs.models import Job

if TYPE_CHECKING:
    from rest_framework.request import Request

MAX_NUMBER = 2**31 - 1


class StartupQuerySerializer(StrictSerializer):
    attempt = serializers.IntegerField(
        min_value=1, max_value=MAX_NUMBER, required=False, help_text="The number of the attempt; the newest otherwise."
    )


class StartupPhaseSerializer(serializers.Serializer[Any]):
    name = serializers.ChoiceField(
        choices=[(name, name) for name in PHASES.values()], help_text="What was done in this phase."
    )
    started_at = serializers.DateTimeField(help_text="When the phase began.")
    duration_s = serializers.FloatField(help_text="How long it took, in seconds.")


class InputsOnNodeSerializer(serializers.Serializer[Any]):
    node = serializers.CharField(help_text="The node.")
    inputs_bytes = serializers.IntegerField(help_text="Bytes of all inputs: data, code, weights and packages.")
    found_bytes = serializers.IntegerField(help_text="Of them, what was in the node's cache.")
    fetched_bytes = serializers.IntegerField(help_text="Of them, what was fetched.")
    fetch_s = serializers.FloatField(help_text="Seconds that fetching took, of all pods on the node.")


class StartupSerializer(serializers.Serializer[Any]):
    """Only the first attempt begins with the request; later ones begin with their launch."""

    number = serializers.IntegerField(
        allow_null=True, help_text="The attempt's number; null before the first one is launched."
    )
    phases = StartupPhaseSerializer(many=True, help_text="The phases that have ended, in their order.")
    total_s = serializers.FloatField(help_text="Seconds of all these phases.")
    is_complete = serializers.BooleanField(help_text="Whether the first step is made.")
    inputs = InputsOnNodeSerializer(
        many=True,
        help_text="By node, what was found in its cache and what was fetched; empty until pods reported it, and where "
        "they read inputs in place.",
    )


class StartupView(AddressedView):
    @extend_schema(parameters=[StartupQuerySerializer], responses=StartupSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """From the request to the first step: each phase with its start and duration."""
        job: Job = Job.objects.get_visible(request.user, self.kwargs["id"])
        number = read_query(StartupQuerySerializer, request).get("attempt")
        attempts = job.attempts.order_by("-number")
        attempt = (attempts if number is None else attempts.filter(number=number)).first()
        if attempt is None and number is not None:
            raise NotFoundError(f"{job.name} has no attempt {number}.")
        return Response(StartupSerializer(startup_of(job, attempt)).data)
