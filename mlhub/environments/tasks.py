# SPDX-License-Identifier: Apache-2.0
"""Celery's part of environments: building one in a folder of its own, and queueing again what was lost."""

from __future__ import annotations

import errno
from datetime import timedelta
from functools import partial
from pathlib import Path

import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone

from mlhub.core.errors import DomainError
from mlhub.core.locks import work_lock, work_slot
from mlhub.core.security.certificates import certificates_of_programs
from mlhub.environments import actions
from mlhub.environments.build_folders import bound_cache, build_folder
from mlhub.environments.failures import OUT_OF_DISK, BuildError, BuildStoppedError, given_up, no_disk
from mlhub.environments.installer import BuildLimits, PackageSource, install
from mlhub.environments.models import EnvironmentState, PythonEnvironment
from mlhub.storage import work_queue
from mlhub.storage.models import WorkItem

logger = structlog.stdlib.get_logger(__name__)
STUCK_AFTER = timedelta(seconds=60)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


@shared_task
def build_environment(environment_id: str) -> None:
    """READY with its layer, or FAILED with the reason. Sent twice, it works once.

    Raises PostponedError while as many are built as there may be: a build that takes long leaves the other processes of
    the worker to uploads and jobs; and for one that was stopped and requested again while its worker is leaving. What
    else it raises is the platform's fault: the environment is queued again, MAX_TRIES times in all.
    """
    with work_lock(f"environment:{environment_id}") as is_mine:
        building = PythonEnvironment.objects.filter(pk=environment_id, state=EnvironmentState.BUILDING)
        environment = building.select_related("organisation").first()
        if environment is None:
            return
        if not is_mine:  # one that was stopped and requested again, whose first worker has not left yet
            raise work_queue.PostponedError
        with work_slot("build-slot", n_slots=settings.BUILDS_AT_ONCE) as is_free:
            if not is_free:
                raise work_queue.PostponedError
            _try_to_build(environment)
        if building.exists():  # it was requested again after this try was stopped
            raise work_queue.PostponedError


@shared_task
def sweep_unbuilt() -> int:
    """Queues environments that wait and are in no queue; returns how many."""
    queued = WorkItem.objects.open().values("subject_id")
    stuck = PythonEnvironment.objects.filter(
        state=EnvironmentState.BUILDING, created_at__lt=timezone.now() - STUCK_AFTER
    )
    found = list(stuck.exclude(pk__in=queued).select_related("organisation", "created_by").order_by("id")[:500])
    for each in found:
        work_queue.enqueue(actions.BUILD, each.id, organisation=each.organisation, user=each.created_by, is_bulk=True)
    return len(found)


def _try_to_build(environment: PythonEnvironment) -> None:
    if not actions.begin_build(environment):
        actions.fail_build(environment, error=_given_up(environment).as_dict())
        return
    try:
        _build(environment)
    except BuildStoppedError:
        logger.info("environment.stopped", environment=str(environment.pk))
    except BuildError as error:
        actions.fail_build(environment, error=error.as_dict())
    except DomainError as error:  # the quota, or a store without room
        described = {"code": error.code, "field": error.field or "file", "message": error.message}
        actions.fail_build(environment, error={**described, "remedy": error.remedy})


def _build(environment: PythonEnvironment) -> None:
    """Nothing of a build that breaks off is used: it is in a temporary folder until the whole layer is stored.

    One that finds no room on the disk gives back what the installer's cache takes of it.
    """
    root = Path(settings.ENVIRONMENT_ROOT)
    cache_bytes = settings.MAX_ENVIRONMENT_BYTES
    with build_folder(root / "builds") as folder:
        try:
            layer = install(
                environment.requirements,
                folder=folder,
                source=PackageSource(
                    settings.PACKAGE_INDEX_URL,
                    settings.WHEELHOUSE,
                    settings.PACKAGE_HOSTS,
                    builds_sources=settings.BUILD_SOURCES,
                    certificates=certificates_of_programs() if settings.CA_FILE else "",
                ),
                limits=BuildLimits(settings.ENVIRONMENT_TIMEOUT_S, settings.MAX_ENVIRONMENT_BYTES),
                cache=root / "cache",
                on_log=partial(actions.write_log, environment),
                check=actions.check_wanted(environment),
            )
            actions.finish_build(environment, layer, scratch=folder / "layer.zip")
        except BuildError as error:
            if error.code == OUT_OF_DISK:
                cache_bytes = 0
            raise
        except OSError as error:
            if error.errno in NO_ROOM:
                cache_bytes = 0
                raise no_disk(error.strerror or "The disk cannot be written") from error
            raise
        finally:
            bound_cache(root / "cache", limit_bytes=cache_bytes)


def _given_up(environment: PythonEnvironment) -> BuildError:
    item = WorkItem.objects.filter(subject_id=environment.pk).exclude(problem="").order_by("-id").first()
    return given_up(actions.MAX_TRIES, "" if item is None else item.problem[:500])
