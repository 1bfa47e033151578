# SPDX-License-Identifier: Apache-2.0
"""What tests say about gangs on the fake cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.protocol import AttemptStatus, BackendUnavailableError, GangPhase
from mlhub.wire.launch import LaunchSpec
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.store import Object


def wait(condition: Callable[[], Any], *, seconds: float = 120) -> Any:
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.02)
    return found


def of(backend: KubernetesBackend, spec: LaunchSpec) -> AttemptStatus | None:
    return next((s for s in backend.observe() if s.attempt_id == spec.attempt_id), None)


def reach(backend: KubernetesBackend, spec: LaunchSpec, *phases: GangPhase) -> AttemptStatus:
    def look() -> AttemptStatus | None:
        status = of(backend, spec)
        return status if status is not None and status.phase in phases else None

    found: AttemptStatus = wait(look)
    return found


def is_launched(backend: KubernetesBackend, spec: LaunchSpec) -> bool:
    """False where the backend says that it cannot be reached, or not yet."""
    with suppress(BackendUnavailableError):
        backend.launch(spec)
        return True
    return False


def ours(server: ApiServer, plural: str = "") -> list[Object]:
    """All objects of any attempt."""
    return [
        o
        for (kind, _, _), o in server.store.objects.items()
        if plural in ("", kind) and names.ATTEMPT in (o["metadata"].get("labels") or {})
    ]


def pods(server: ApiServer) -> list[Object]:
    return sorted(ours(server, "pods"), key=lambda pod: str(pod["metadata"]["name"]))
