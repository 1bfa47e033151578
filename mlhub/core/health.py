# SPDX-License-Identifier: Apache-2.0
"""Is the process alive, can it serve, and how are its neighbours? Plain views: probes need neither sign-in nor DRF."""

from __future__ import annotations

from typing import Any

import redis
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Max
from django.http import HttpRequest, JsonResponse
from django.utils import timezone

REDIS_TIMEOUT_S = 1.0


def alive(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 (Django's signature)
    """GET /healthz: the process answers."""
    return JsonResponse({"status": "alive"}, headers={"Cache-Control": "no-store"})


def ready(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 (Django's signature)
    """GET /readyz: 200 when the database answers, else 503.

    {database: bool, redis: bool, control: seconds since the last round, null when there was none}. Without Redis the
    platform is slower but whole, so it does not decide.
    """
    database, control = _database()
    body: dict[str, Any] = {"database": database, "redis": _redis(), "control": control}
    return JsonResponse(body, status=200 if database else 503, headers={"Cache-Control": "no-store"})


def _database() -> tuple[bool, float | None]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        newest = apps.get_model("control", "Round")._default_manager.aggregate(at=Max("at"))["at"]
    except DatabaseError:
        return False, None
    return True, None if newest is None else round((timezone.now() - newest).total_seconds(), 3)


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
