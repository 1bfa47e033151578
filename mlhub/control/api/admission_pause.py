# SPDX-License-Identifier: Apache-2.0
"""Whether admission is paused, for everybody; pausing and resuming it, for administrators of the platform."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control.rounds.admission_pause import NOT_PAUSED, current_pause, pause_admission, resume_admission
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.tenants.access_control.permissions import require_administrator
from mlhub.tenants.models import User
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class AdmissionSerializer(serializers.Serializer[Any]):
    """Whether waiting jobs may be started. While admission is paused running jobs go on, and none is started."""

    is_paused = serializers.BooleanField(help_text="Whether admission is paused: no waiting job is started.")
    reason = serializers.CharField(allow_blank=True, help_text="Why it is paused; empty while it is not.")
    since = serializers.DateTimeField(allow_null=True, help_text="Since when it is paused; null: it is not.")
    until = serializers.DateTimeField(
        allow_null=True, help_text="When it is resumed by itself; null: when an administrator resumes it."
    )
    paused_by = serializers.CharField(
        allow_blank=True, help_text="The user name of who paused it; for platform administrators."
    )
    version = serializers.IntegerField(help_text="Of this pause, as changes of it send it; 0 while it is not paused.")


class AdmissionPauseSerializer(StrictSerializer):
    reason = serializers.CharField(
        max_length=200,
        error_messages={
            "blank": "Say why, for those whose jobs wait.",
            "required": "Say why, for those whose jobs wait.",
        },
        help_text="Why admission is paused; everybody whose jobs wait reads it.",
    )
    until = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="When it is resumed by itself; null or left out: when an administrator resumes it.",
    )
    version = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        max_value=2**63 - 1,
        help_text="The version that was seen, 0: it was not paused; 409 when it is stale. Left out: whatever it is.",
    )

    def validate_until(self, until: datetime | None) -> datetime | None:
        if until is not None and until <= timezone.now():
            raise serializers.ValidationError("This is in the past: give a time that is to come.")
        return until


def admission(user: User) -> dict[str, Any]:
    """Who paused it is for administrators."""
    pause = current_pause(now=timezone.now())
    if pause is None:
        return {"is_paused": False, "reason": "", "since": None, "until": None, "paused_by": "", "version": NOT_PAUSED}
    by = pause.paused_by.username if pause.paused_by is not None and user.is_staff else ""
    facts = {"reason": pause.reason, "since": pause.since, "until": pause.until, "version": pause.version}
    return {"is_paused": True, "paused_by": by, **facts}


class AdmissionPauseView(APIView):
    @extend_schema(responses=AdmissionSerializer)
    def get(self, request: Request) -> Response:
        """Whether admission is paused, since when, until when and why."""
        return self._answer(request)

    @extend_schema(request=AdmissionPauseSerializer, responses=AdmissionSerializer)
    def put(self, request: Request) -> Response:
        """Pauses admission from the next round on: no waiting job is started, running jobs go on. While it is paused,
        changes the reason and the end; 409 with both versions where another administrator was first. Platform
        administrators only."""
        require_administrator(request, self)
        body = read_body(AdmissionPauseSerializer, request)
        pause_admission(actor=caller(request), now=timezone.now(), **body)
        return self._answer(request)

    @extend_schema(responses={204: None})
    def delete(self, request: Request) -> Response:
        """Resumes admission: the next round starts jobs again. Nothing changes while it is not paused. Platform
        administrators only."""
        require_administrator(request, self)
        resume_admission(actor=caller(request), now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _answer(self, request: Request) -> Response:
        return Response(AdmissionSerializer(admission(caller(request))).data)
