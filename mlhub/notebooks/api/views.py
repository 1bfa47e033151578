# SPDX-License-Identifier: Apache-2.0
"""A job's notebook: how it stands, and the address at which the caller's browser enters it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import Max
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response

from mlhub.core.api.views import AddressedView
from mlhub.core.errors import ConflictError, NotFoundError
from mlhub.jobs.models import Job, JobKind, NotebookActivity
from mlhub.jobs.submission.notebooks import idle_limit_s, serving_attempt, stops_at, warns_at
from mlhub.metrics.models import StallRecord
from mlhub.notebooks.actions import TICKET_S, open_notebook
from mlhub.tenants.models import ApiToken
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class NotebookSerializer(serializers.Serializer[Any]):
    is_ready = serializers.BooleanField(read_only=True, help_text="Whether it runs and answers: then it can be opened.")
    idle_limit_s = serializers.FloatField(
        read_only=True, help_text="Seconds in which nothing is done in it, after which it is paused."
    )
    active_at = serializers.DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="When a cell ran or a terminal was used last; null: it never answered.",
    )
    stops_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When it is paused unless something is done; null: it does not run."
    )
    is_warned = serializers.BooleanField(read_only=True, help_text="Whether it will be paused soon.")
    silent_since = serializers.DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="Since when JupyterLab has not answered, of the newest attempt; null: it answers, or is starting.",
    )
    reclaimed_at = serializers.DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="When it was paused since nothing was done in it, or since it did not answer; null: it was not.",
    )


class NotebookAddressSerializer(serializers.Serializer[Any]):
    url = serializers.CharField(read_only=True, help_text="Opens the notebook in a browser, once.")
    expires_at = serializers.DateTimeField(read_only=True, help_text="Until when the address can be used.")


class NotebookView(AddressedView):
    required_scope: str | None = None

    @extend_schema(responses=NotebookSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """How the notebook stands. 404 for a job that is none."""
        job = self._job(request)
        return Response(NotebookSerializer(notebook_status(job)).data)

    @extend_schema(request=None, responses={201: NotebookAddressSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """An address for the caller's browser, for one use. 409 while the notebook does not answer."""
        user = caller(request)
        token = request.auth if isinstance(request.auth, ApiToken) else None
        key = "" if token is not None else request._request.session.session_key or ""
        url = open_notebook(self._job(request), user=user, session_key=key, token=token)
        found = {"url": url, "expires_at": timezone.now() + timedelta(seconds=TICKET_S)}
        return Response(NotebookAddressSerializer(found).data, status=status.HTTP_201_CREATED)

    def _job(self, request: Request) -> Job:
        found: Job = Job.objects.select_related("project__organisation").get_visible(request.user, self.kwargs["id"])
        return found


def notebook_status(job: Job) -> dict[str, Any]:
    """The JSON of NotebookSerializer. Raises NotFoundError for a job that is no notebook."""
    if job.kind != JobKind.NOTEBOOK:
        raise NotFoundError(f"{job.name} is no notebook.")
    try:
        live: Any = serving_attempt(job)
    except ConflictError:
        live = None
    newest = NotebookActivity.objects.filter(attempt__job=job).order_by("-attempt__number").first()
    stall = StallRecord.objects.filter(attempt__job=job).select_related("attempt").order_by("-attempt__number").first()
    is_silent = stall is not None and stall.attempt.number == job.attempts.aggregate(n=Max("number"))["n"]
    return {
        "is_ready": live is not None and not is_silent,
        "idle_limit_s": idle_limit_s(job),
        "active_at": newest and newest.active_at,
        "stops_at": _stops_at(job, newest, stall if is_silent else None) if live else None,
        "is_warned": bool(newest and live and not is_silent and timezone.now() >= warns_at(newest, job)),
        "silent_since": stall.since if stall is not None and is_silent else None,
        "reclaimed_at": newest and newest.reclaimed_at,
    }


def _stops_at(job: Job, newest: NotebookActivity | None, stall: StallRecord | None) -> datetime | None:
    if stall is not None:
        return stall.since + timedelta(seconds=settings.NOTEBOOK_SILENT_LIMIT_S)
    return stops_at(newest, job) if newest else None
