# SPDX-License-Identifier: Apache-2.0
"""Celery's part of datasets: fetching and inspecting versions, and queueing again what was lost."""

from __future__ import annotations

import json
from uuid import UUID

from celery import shared_task
from django.conf import settings

from mlhub.core.locks import work_lock, work_slot
from mlhub.datasets import actions, references
from mlhub.datasets.fetching import fetch
from mlhub.datasets.models import DatasetVersion, VersionState
from mlhub.storage import work_queue
from mlhub.storage.inspection import given_up, inspect
from mlhub.storage.models import WorkItem
from mlhub.wire.sandbox import Argument, BlobArgument

STUCK_AFTER_S = 60.0


@shared_task
def inspect_version(version_id: str) -> None:
    """READY with schema and preview, NEEDS_COLUMNS, or REFUSED with the reason. Sent twice, it works once.

    What it raises is the platform's fault: the version stays, and it is queued again, MAX_TRIES times in all.
    """
    with work_lock(f"inspect:{version_id}") as is_mine:
        version = DatasetVersion.objects.filter(pk=version_id, state=VersionState.INSPECTING).first()
        if not is_mine or version is None:
            return
        if actions.begin_inspection(version):
            _inspect(version)
        else:
            actions.refuse_version(version.id, error=given_up(version.id))


@shared_task
def fetch_version(version_id: str) -> None:
    """INSPECTING with the file that its source has, or REFUSED with the reason. Sent twice, it works once.

    Raises PostponedError while as many fetches are under way as there may be, TurnOverError when others shall have
    their turn, and what is the platform's fault.
    """
    with work_lock(f"fetch:{version_id}") as is_mine:
        fetching = DatasetVersion.objects.filter(pk=version_id, state=VersionState.FETCHING)
        version = fetching.select_related("dataset__project__organisation", "created_by").first()
        if not is_mine or version is None:
            return
        with work_slot("fetch-slot", n_slots=settings.FETCHES_AT_ONCE) as is_free:
            if not is_free:
                raise work_queue.PostponedError
            fetch(version)


@shared_task
def sweep_uninspected() -> int:
    """Queues what has waited too long and is in no queue, as uploads of an earlier release are; returns how many."""
    queued = WorkItem.objects.open().values("subject_id")
    stuck = DatasetVersion.objects.stuck_in_inspection(for_s=STUCK_AFTER_S).exclude(pk__in=queued)
    found = list(stuck.select_related("dataset__project__organisation", "created_by")[:500])
    for version in found:
        if version.state == VersionState.FETCHING:
            references.enqueue_fetch(version, version.created_by)
        else:
            actions.enqueue_inspection(version, version.created_by)
    return len(found)


def _inspect(version: DatasetVersion) -> None:
    files = [(file["name"], BlobArgument(file["sha256"], file["size_bytes"])) for file in version.files]
    paths: list[Argument] = ["--path", files[0][1]]
    if len(files) > 1:
        paths = [part for name, blob in files for part in ("--shard", name, blob)]
    verdict = inspect(
        "dataset",
        f"--format={version.format}",
        f"--options={json.dumps(version.options)}",
        *paths,
        project=version.dataset.project,
    )
    version_id = UUID(str(version.id))
    if verdict.error is not None:
        actions.refuse_version(version_id, error=verdict.error)
        return
    found = {name: verdict.found.get(name, {}) for name in ("preview", "statistics")}
    if problems := verdict.found.get("problems"):
        actions.await_columns(version_id, problems=problems, **found)
    else:
        actions.accept_version(version_id, schema=verdict.found.get("schema", {}), **found)
