# SPDX-License-Identifier: Apache-2.0
"""GET /healthz/rounds: are scheduling rounds made? For monitoring, not for the probe that takes a web server out."""

from __future__ import annotations

from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.utils import timezone

from mlhub.control.monitoring.round_health import round_health


def rounds(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 (Django's signature)
    """200 while rounds are finished, else 503: {status, finished_age_s, attempted_age_s, stopped_since, cause}.

    status: made or stopped, or unknown where the database does not answer. cause: loop_away, backend_away or
    rounds_fail.
    """
    headers = {"Cache-Control": "no-store"}
    try:
        health = round_health(now=timezone.now())
    except DatabaseError:
        return JsonResponse({"status": "unknown"}, status=503, headers=headers)
    body = {
        "status": "stopped" if health.cause else "made",
        "finished_age_s": health.finished_age_s,
        "attempted_age_s": health.attempted_age_s,
        "stopped_since": health.stopped_since,
        "cause": health.cause,
    }
    return JsonResponse(body, status=503 if health.cause else 200, headers=headers)
