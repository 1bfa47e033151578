# SPDX-License-Identifier: Apache-2.0
"""Each process of a Celery worker keeps a sandbox that has imported torch before there is a dry run for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import structlog
from celery.signals import worker_process_init, worker_process_shutdown
from django.conf import settings

from mlhub.wire.sandbox import SandboxTask, TextArgument

if TYPE_CHECKING:
    from mlhub.runtime.spare_sandbox import SpareSandbox

logger = structlog.stdlib.get_logger(__name__)
_kept: list[SpareSandbox] = []  # by this process: none outside Celery workers, else at most one


@worker_process_init.connect
def keep_spare(**_: object) -> None:
    """Where the settings want warm workers, and a forked program is confined as strictly as an executed one."""
    _kept.clear()  # a fork's copy of its parent's
    if settings.SANDBOX == "jobs" or not settings.WARM_WORKERS:
        return
    from mlhub.runtime.sandbox.capabilities import isolation
    from mlhub.runtime.warm import inspection, start  # only workers run uploaded code

    if start.is_as_strict_as_a_cold_start(isolation()):
        _kept.append(inspection.spare())
        prepare_spare()


@worker_process_shutdown.connect
def end_spare(**_: object) -> None:
    for spare in _kept:
        spare.close()


def prepare_spare() -> None:
    """Starts the next one, which waits a little before it imports. Without one, runs start cold."""
    for spare in _kept:
        try:
            spare.prepare()
        except OSError as error:
            logger.warning("spare_sandbox.not_started", error=str(error))


def spare_for(task: SandboxTask) -> SpareSandbox | None:
    """The spare for a dry run that may find libraries imported; None for all else, and without one."""
    return _kept[0] if _kept and may_be_warm(task) else None


def may_be_warm(task: SandboxTask) -> bool:
    """Whether it is the dry run of a job without packages, variables or secrets of its own, which might matter to
    libraries while they are imported."""
    if task.arguments[0] != "preflight":
        return False
    spec = next((json.loads(each.text) for each in task.arguments if isinstance(each, TextArgument)), None)
    if spec is None:
        return False
    return not (spec["model"]["environment"] or spec["variables"] or spec["secret_names"])
