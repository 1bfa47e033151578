# SPDX-License-Identifier: Apache-2.0
"""Is the process alive, can it serve, and how are its neighbours? Plain views: probes need neither sign-in nor DRF."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import redis
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.utils import timezone

from mlhub._version import __version__

REDIS_TIMEOUT_S = 1.0


def alive(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 (Django's signature)
    """GET /healthz: the process answers, and of which version it is, as the API's schema says, too."""
    return JsonResponse({"status": "alive", "version": __version__}, headers={"Cache-Control": "no-store"})


def ready(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 (Django's signature)
    """GET /readyz: 200 when the database answers, else 503.

    {database: bool, redis: bool, rounds: {finished_age_s, attempted_age_s}}: seconds since the newest scheduling round
    that was finished, and since the newest that began, null when there was none. Neither Redis nor the control loop
    decides: without them the API still serves. /healthz/rounds answers 503 when rounds have stopped.
    """
    database, rounds = _database()
    body: dict[str, Any] = {"database": database, "redis": _redis(), "rounds": rounds}
    return JsonResponse(body, status=200 if database else 503, headers={"Cache-Control": "no-store"})


def _database() -> tuple[bool, dict[str, float | None]]:
    try:
        rows = apps.get_model("control", "SchedulerState")._default_manager.filter(pk=1)
        finished_at, attempted_at = rows.values_list("round_at", "attempted_at").first() or (None, None)
    except DatabaseError:
        return False, {"finished_age_s": None, "attempted_age_s": None}
    return True, {"finished_age_s": _age_s(finished_at), "attempted_age_s": _age_s(attempted_at)}


def _age_s(at: datetime | None) -> float | None:
    return None if at is None else round((timezone.now() - at).total_seconds(), 3)


def _redis() -> bool:
    client = redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S
    )
    try:
        return bool(client.ping())
    except (redis.RedisError, OSError):
        return False
    finally:
        client.close()
