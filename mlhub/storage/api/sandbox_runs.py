# SPDX-License-Identifier: Apache-2.0
"""What the Job of one run in the sandbox may do, with the token of that run and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.http import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.parsers import PodJSONParser
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AnyAccept, read_body
from mlhub.core.rate_limits.buckets import Charge
from mlhub.core.rate_limits.requests import charge_request
from mlhub.runtime.sandbox.verdicts import End
from mlhub.storage import sandbox_runs
from mlhub.storage.downloads import blob_response
from mlhub.storage.models import SandboxRun
from mlhub.wire import sandbox as wire

if TYPE_CHECKING:
    from rest_framework.request import Request

BUDGET = "reports"  # of pods


class SandboxTaskSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="The version of this message.")
    arguments = serializers.ListField(
        child=serializers.JSONField(),
        help_text="Arguments of the inspector: text, {sha256, size_bytes} for a file, or {text} for a file's content.",
    )
    timeout_s = serializers.FloatField(help_text="How many seconds the run may take.")
    memory_bytes = serializers.IntegerField(help_text="How much memory its processes may use together.")
    scratch_bytes = serializers.IntegerField(help_text="How much disk space it may use.")


class SandboxOutcomeSerializer(StrictSerializer):
    version = serializers.IntegerField(
        min_value=wire.VERSION, max_value=wire.VERSION, help_text="The version of this message."
    )
    exit_code = serializers.IntegerField(
        min_value=-1024, max_value=1024, help_text="The exit status; negative for a signal."
    )
    output = serializers.CharField(
        allow_blank=True, trim_whitespace=False, max_length=wire.MAX_ANSWER_BYTES, help_text="The program's answer."
    )
    printed = serializers.CharField(
        allow_blank=True,
        trim_whitespace=False,
        max_length=wire.MAX_PRINTED_BYTES,
        help_text="The end of what it printed otherwise.",
    )
    end = serializers.ChoiceField(choices=[end.value for end in End], help_text="Which limit ended it, if one did.")
    proof = serializers.CharField(
        allow_blank=True, max_length=wire.MAX_PROOF_CHARACTERS, help_text="How that was found out, in words."
    )
    is_cut = serializers.BooleanField(help_text="Whether more was printed than is sent.")


class SandboxRunBase(APIView):
    """Open to a run's own token: 401 without or with a wrong one, 410 once the run has ended."""

    authentication_classes = []
    permission_classes = []
    throttle_classes = []  # run() charges the request, once it is known whose it is

    def run(self, request: Request) -> SandboxRun:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        run_id: UUID = self.kwargs["id"]
        found = sandbox_runs.run_of(run_id, token) if scheme.lower() == "bearer" else None
        if found is None:
            raise exceptions.AuthenticationFailed("The token is not this run's.")
        charge_request(request._request, [Charge(limit, str(run_id)) for limit in settings.RATE_LIMITS.get(BUDGET, ())])
        return found

    def get_authenticate_header(self, request: Request) -> str:  # noqa: ARG002 (DRF's signature)
        return "Bearer"


class SandboxTaskView(SandboxRunBase):
    @extend_schema(responses=SandboxTaskSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """What the run does."""
        return Response(self.run(request).task)


class SandboxBlobView(SandboxRunBase):
    content_negotiation_class = AnyAccept

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, sha256: str, **_: Any) -> HttpResponseBase:
        """A file that this very run reads. It passes through the web even where a bucket keeps it: the pod of a run
        reaches nothing else."""
        blob = sandbox_runs.readable_blob(self.run(request), sha256)
        return blob_response(request._request, blob, filename=sha256)


class SandboxOutcomeView(SandboxRunBase):
    parser_classes = [PodJSONParser]

    @extend_schema(request=SandboxOutcomeSerializer, responses={204: None})
    def post(self, request: Request, **_: Any) -> Response:
        """How the run ended. The first report counts, and ends the run."""
        run = self.run(request)
        sandbox_runs.record_outcome(run.pk, read_body(SandboxOutcomeSerializer, request), now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)
