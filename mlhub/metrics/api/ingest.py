# SPDX-License-Identifier: Apache-2.0
"""What pods may do, with the token of their own attempt and nothing else: report, hand in, fetch their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, status
from rest_framework.parsers import BaseParser
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.parsers import PodJSONParser
from mlhub.core.api.views import AnyAccept, read_body
from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError
from mlhub.core.installation import is_restored_lately
from mlhub.core.rate_limits.buckets import Charge
from mlhub.core.rate_limits.requests import charge_request
from mlhub.jobs.execution.inputs import readable_blobs
from mlhub.jobs.execution.referenced_inputs import referenced_inputs
from mlhub.jobs.models import RESULTS, Attempt
from mlhub.metrics import actions
from mlhub.metrics.api import serializers as s
from mlhub.metrics.profiling.profile_reports import request_for
from mlhub.storage.downloads import blob_response
from mlhub.storage.stores import CHUNK_BYTES, blob_store
from mlhub.wire.profiles import ABILITIES, ABILITY, MAX_TRACE_BYTES, is_trace
from mlhub.wire.report import ARTIFACT_FOLDER, MAX_ARTIFACT_NAME, is_output
from mlhub.wire.report import REPORTS as REPORT_LINES

if TYPE_CHECKING:
    from rest_framework.request import Request

REPORTS = "reports"  # the budget of pods
ARTIFACTS = ("weights.safetensors", "metadata.json", *RESULTS)


class PodView(APIView):
    """Open to an attempt's own token: 401 without or with a wrong one, 410 once the attempt is fenced.

    All pods of an attempt share one budget, which grows with their number.
    """

    authentication_classes = []
    permission_classes = []
    throttle_classes = []  # attempt() charges the request, once it is known whose it is

    def attempt(self, request: Request) -> Attempt:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        attempt_id: UUID = self.kwargs["id"]
        found = actions.attempt_of(attempt_id, token) if scheme.lower() == "bearer" else None
        if found is None:
            raise exceptions.AuthenticationFailed("The token is not this attempt's.")
        n_pods = found.n_workers + found.n_servers
        limits = settings.RATE_LIMITS.get(REPORTS, ())
        charge_request(request._request, [Charge(limit, str(found.pk), weight=n_pods) for limit in limits])
        return found

    def get_authenticate_header(self, request: Request) -> str:  # noqa: ARG002 (DRF's signature)
        return "Bearer"


class ReportsView(PodView):
    parser_classes = [PodJSONParser]

    @extend_schema(request=s.LinesSerializer, responses={200: s.NextSerializer, 409: s.NextSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Numbered lines of one stream; each is stored once. 409: lines are missing, send from `next`."""
        attempt = self.attempt(request)
        body = read_body(s.LinesSerializer, request)
        try:
            wanted = actions.store_lines(
                attempt,
                actions.ReportingPod(body["role"], body["index"]),
                stream=body["stream"],
                first=body["first"],
                lines=body["lines"],
            )
        except ConflictError as error:
            return Response({"next": error.facts["next"]}, status=status.HTTP_409_CONFLICT)
        speaks_for_gang = body["stream"] == REPORT_LINES and (body["role"], body["index"]) == ("worker", 0)
        batch = {"batch": attempt.batch_decision} if speaks_for_gang and attempt.batch_decision else {}
        knows_profiles = ABILITY in request.headers.get(ABILITIES, "").split()
        asked = request_for(attempt, role=body["role"], index=body["index"], knows_profiles=knows_profiles)
        profile = {} if asked is None else {"profile": asked}
        return Response({"next": wanted, **batch, **profile})


class RawParser(BaseParser):
    """Leaves the body unread: it may be large."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:  # noqa: ARG002
        return stream


class ArtifactView(PodView):
    parser_classes = [RawParser]

    @extend_schema(request={"application/octet-stream": OpenApiTypes.BINARY}, responses={201: None, 200: None})
    def put(self, request: Request, name: str, **_: Any) -> Response:
        """A result file; the header X-Content-SHA256 names its hash. The same bytes again are answered 200."""
        attempt = self.attempt(request)
        if name not in ARTIFACTS and not is_output(name) and not is_trace(name):
            raise InvalidInputError(
                f"{name[:MAX_ARTIFACT_NAME]} is no artifact.",
                field="name",
                remedy=f"One of {', '.join(ARTIFACTS)}, or a path below {ARTIFACT_FOLDER}/.",
            )
        limit_bytes = MAX_TRACE_BYTES if is_trace(name) else settings.MAX_UPLOAD_BYTES
        with blob_store().stage(limit_bytes=limit_bytes) as staging:
            while chunk := request._request.read(CHUNK_BYTES):
                staging.write(chunk)
            is_new = actions.store_artifact(
                attempt, name=name, staging=staging, sha256=request.headers.get("X-Content-SHA256", "")
            )
        return Response(status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)


class DeletedInputsView(PodView):
    parser_classes = [PodJSONParser]

    @extend_schema(request=s.CachedInputsSerializer, responses=s.CachedInputsSerializer)
    def post(self, request: Request, **_: Any) -> Response:
        """Of hashes of inputs that a volume of the attempt's project has, those that the project no longer refers to.

        For a while after a restore there are none: what is cached may be newer than the backup.
        """
        project = self.attempt(request).job.project
        asked = set(read_body(s.CachedInputsSerializer, request)["sha256s"])
        gone = set() if is_restored_lately(timezone.now()) else asked - referenced_inputs(project, asked)
        return Response({"sha256s": sorted(gone)})


class InputView(PodView):
    content_negotiation_class = AnyAccept

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, 307: None})
    def get(self, request: Request, sha256: str, **_: Any) -> HttpResponseBase:
        """An input of this very attempt, for pods that do not share a disk with the platform.

        307: it is in an object store that pods reach; the address is good for five minutes.
        """
        attempt = self.attempt(request)
        for blob in readable_blobs(attempt.job):
            if blob.sha256 == sha256:
                lent = blob_store().lend(sha256)
                if lent:
                    # the token stays here: pods send it to no other server (runtime/launcher/api.py)
                    return HttpResponse(status=307, headers={"Location": lent, "Cache-Control": "no-store"})
                return blob_response(request._request, blob, filename=sha256)
        raise NotFoundError("This is no input of the attempt.")
