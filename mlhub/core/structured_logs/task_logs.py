# SPDX-License-Identifier: Apache-2.0
"""Logs of Celery: the platform's formatter instead of Celery's, and the ids of a task's arguments in all its entries.

A task carries the id of the request that it was sent by, so that a request and the work it caused have one id.
"""

from __future__ import annotations

import inspect
import logging.config
import time
from typing import Any

import structlog
from celery import Task, signals

from mlhub.core.structured_logs.logs import current_request_id

logger = structlog.stdlib.get_logger(__name__)
REQUEST_ID = "mlhub_request_id"
BEGAN = "mlhub_began"


@signals.setup_logging.connect
def use_the_platform_s_logging(**_: Any) -> None:
    """Celery configures no logging of its own while this receiver is connected; levels are MLHUB_LOG_LEVEL's."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


@signals.before_task_publish.connect
def send_request_id(headers: dict[str, Any] | None = None, **_: Any) -> None:
    if headers is not None and (request_id := current_request_id()):
        headers[REQUEST_ID] = request_id


@signals.task_prerun.connect
def bind_task(
    task_id: str, task: Task[Any, Any], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, **_: Any
) -> None:
    """Binds task, task_id and request_id, and each argument that is an id: job_id as `job`."""
    structlog.contextvars.clear_contextvars()
    setattr(task.request, BEGAN, time.perf_counter())
    request_id = getattr(task.request, REQUEST_ID, None)
    structlog.contextvars.bind_contextvars(
        task=task.name,
        task_id=task_id,
        **({"request_id": request_id} if request_id else {}),
        **_ids(task, tuple(args), kwargs or {}),
    )


def bind_work(task: str, *, subject_id: str, request_id: str) -> None:
    """Binds what a message of the work queue turned out to be about, in place of the request that sent the message."""
    structlog.contextvars.bind_contextvars(task=task, subject=subject_id)
    structlog.contextvars.unbind_contextvars("request_id")
    if request_id:
        structlog.contextvars.bind_contextvars(request_id=request_id)


@signals.task_postrun.connect
def report_task(task: Task[Any, Any], state: str | None = None, **_: Any) -> None:
    """One entry a task; those about nothing in particular (sweeps) only when debugging. Celery reports failures."""
    duration_ms = round(1000 * (time.perf_counter() - getattr(task.request, BEGAN, time.perf_counter())), 1)
    level = logging.INFO if task.request.args else logging.DEBUG
    logger.log(level, "task.ended", state=state, duration_ms=duration_ms)
    structlog.contextvars.clear_contextvars()


def _ids(task: Task[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, str]:
    try:
        given = inspect.signature(task.run).bind_partial(*args, **kwargs).arguments
    except TypeError:
        return {}  # arguments of another release; the task itself will say so
    return {name.removesuffix("_id"): str(value) for name, value in given.items() if name.endswith("_id")}
