# SPDX-License-Identifier: Apache-2.0
"""Writes to datasets: uploading, deleting, and what inspection finds. A version never changes once it is ready."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import IntegrityError, models, transaction
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.core.references import refuses_while_used
from mlhub.datasets.formats import guess
from mlhub.datasets.models import Dataset, DatasetVersion, VersionState
from mlhub.datasets.sources.turns import forget
from mlhub.events.actions import append
from mlhub.storage import actions as storage
from mlhub.storage import work_queue
from mlhub.storage.inspection import MAX_TRIES
from mlhub.storage.stores import StagedBytes
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import Project, User
from mlhub.tenants.roles import Role
from mlhub.wire.formats import taking

OWNER_KIND = "dataset_version"
INSPECT = "mlhub.datasets.tasks.inspect_version"


def upload_dataset(
    project: Project,
    *,
    name: str,
    description: str = "",
    staging: StagedBytes,
    filename: str,
    format: str | None = None,
    actor: User,
    **options: Any,
) -> Dataset:
    """A dataset with its first version, which Celery inspects; all of it or nothing.

    options: how its reader shall take the file: target, ignore; tokenizer, vocabulary_size, context_length, documents.
    Raises ConflictError when the name is taken, QuotaExceededError, InvalidInputError for a format that cannot be
    guessed, or does not take an option.
    """
    require_role(actor, project, Role.MEMBER)
    require_open(project)
    with transaction.atomic():
        dataset = create_dataset(project, name=name, description=description, actor=actor)
        _add_version(dataset, staging=staging, filename=filename, format=format, options=options, actor=actor)
        record("dataset.created", dataset, actor, name=name, project_id=str(project.id))
    return dataset


def create_dataset(project: Project, *, name: str, description: str, actor: User) -> Dataset:
    """A dataset without versions, in the caller's transaction. Raises ConflictError when the name is taken."""
    try:
        with transaction.atomic():
            created: Dataset = Dataset.objects.create(
                project=project, name=name, description=description, created_by=actor
            )
    except IntegrityError as error:
        raise ConflictError(
            f"There is already a dataset called {name} in {project.name}.",
            code="name_taken",
            field="name",
            remedy="Choose another name, or upload a new version of that dataset.",
        ) from error
    return created


def upload_version(
    dataset: Dataset,
    *,
    staging: StagedBytes,
    filename: str,
    format: str | None = None,
    actor: User,
    **options: Any,
) -> DatasetVersion:
    """Another version of a dataset; those before it stay as they are. Raises what upload_dataset raises."""
    require_role(actor, dataset.project, Role.MEMBER)
    require_open(dataset.project)
    with transaction.atomic():
        Dataset.objects.select_for_update().get(pk=dataset.pk)  # versions are numbered one after the other
        version = _add_version(dataset, staging=staging, filename=filename, format=format, options=options, actor=actor)
        record("dataset.version_created", dataset, actor, version_id=str(version.id), number=version.number)
    return version


def delete_dataset(dataset: Dataset, *, actor: User) -> None:
    """For who made it, and admins. Raises ConflictError while jobs use a version of it."""
    require_role(actor, dataset.project, Role.MEMBER if dataset.created_by_id == actor.id else Role.ADMIN)
    with transaction.atomic():
        version_ids = list(dataset.versions.values_list("id", flat=True))
        for version_id in version_ids:
            storage.release(owner_kind=OWNER_KIND, owner_id=version_id)
        work_queue.withdraw(version_ids)
        _forget_turns(version_ids)
        with _refuses_while_used(dataset.name):
            Dataset.objects.filter(pk=dataset.pk).delete()
        record("dataset.deleted", dataset, actor, name=dataset.name)


def delete_version(version: DatasetVersion, *, actor: User) -> None:
    """For who uploaded it, and admins. Raises ConflictError while jobs use it, or when it is the only version."""
    dataset = version.dataset
    require_role(actor, dataset.project, Role.MEMBER if version.created_by_id == actor.id else Role.ADMIN)
    with transaction.atomic():
        Dataset.objects.select_for_update().get(pk=dataset.pk)
        if dataset.versions.count() == 1:
            raise ConflictError(
                f"{dataset.name} has no other version.", code="only_version", remedy="Delete the dataset as a whole."
            )
        storage.release(owner_kind=OWNER_KIND, owner_id=version.pk)
        work_queue.withdraw([version.pk])
        _forget_turns([version.pk])
        with _refuses_while_used(f"version {version.number} of {dataset.name}"):
            DatasetVersion.objects.filter(pk=version.pk).delete()
        record("dataset.version_deleted", dataset, actor, name=dataset.name, number=version.number)


def _forget_turns(version_ids: Sequence[UUID]) -> None:
    """What fetches left in the spool goes with their versions."""
    for version in DatasetVersion.objects.filter(pk__in=version_ids, source__partial__n_bytes__gt=0):
        transaction.on_commit(partial(forget, version.pk))


def _refuses_while_used(what: str) -> AbstractContextManager[None]:
    remedy = "Delete those jobs first; jobs that run are cancelled before."
    return refuses_while_used(what, by_one="job", by_several="jobs", remedy=remedy, fact="n_jobs")


def begin_inspection(version: DatasetVersion) -> bool:
    """Counts a try. False when there were MAX_TRIES, each of which broke off with no verdict."""
    left = DatasetVersion.objects.filter(pk=version.pk, n_inspections__lt=MAX_TRIES)
    return bool(left.update(n_inspections=models.F("n_inspections") + 1))


def accept_version(version_id: UUID, *, schema: dict[str, Any], **found: dict[str, Any]) -> bool:
    """INSPECTING becomes READY. found: preview, statistics. False when another inspection was first."""
    return _conclude(version_id, state=VersionState.READY, kind="dataset.ready", schema=schema, **found)


def await_columns(version_id: UUID, *, problems: list[dict[str, str]], **found: dict[str, Any]) -> bool:
    """INSPECTING becomes NEEDS_COLUMNS: the file is sound, and kept. problems: {column, message, remedy}.

    found: preview, statistics. False when another inspection was first.
    """
    error = {
        "code": "needs_columns",
        "field": problems[0]["column"] or "target",
        "message": "\n".join(problem["message"] for problem in problems)[:2000],
        "remedy": "\n".join(dict.fromkeys(problem["remedy"] for problem in problems))[:2000],
    }
    kind = "dataset.needs_columns"
    return _conclude(version_id, state=VersionState.NEEDS_COLUMNS, kind=kind, error=error, **found)


def refuse_version(version_id: UUID, *, error: dict[str, str]) -> bool:
    """FETCHING or INSPECTING becomes REFUSED with {field, message, remedy}, and its bytes are released."""
    return _conclude(version_id, state=VersionState.REFUSED, kind="dataset.refused", error=error)


def _add_version(
    dataset: Dataset, *, staging: StagedBytes, filename: str, format: str | None, options: dict[str, Any], actor: User
) -> DatasetVersion:
    sha256, size_bytes = staging.finish()
    kind = format or guess(filename, staging.open)
    options = checked_options(kind, options)
    files = [{"name": Path(filename).name, "sha256": sha256, "size_bytes": size_bytes}]
    version = create_version(dataset, format=kind, options=options, files=files, actor=actor)
    storage.keep(staging, place=dataset.project, owner_kind=OWNER_KIND, owner_id=version.id, user=actor)
    enqueue_inspection(version, actor)
    return version


def checked_options(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Those that were given. Raises InvalidInputError for one that the format does not take."""
    given = {name: value for name, value in options.items() if value not in (None, "", [])}
    for name in sorted(given):
        if kind not in taking(name):
            raise InvalidInputError(
                f"A file of the format {kind} has no {name}.",
                field=name,
                remedy=f"Leave {name} out; it is for {' and '.join(taking(name))}.",
            )
    return given


def create_version(
    dataset: Dataset,
    *,
    format: str,
    options: dict[str, Any],
    files: list[dict[str, Any]],
    actor: User,
    source: dict[str, Any] | None = None,
    state: VersionState = VersionState.INSPECTING,
) -> DatasetVersion:
    """The next version of a dataset that the caller has locked; the caller holds its files and enqueues it."""
    newest = dataset.versions.aggregate(newest=models.Max("number"))["newest"] or 0
    created: DatasetVersion = DatasetVersion.objects.create(
        dataset=dataset,
        number=newest + 1,
        format=format,
        options=options,
        files=files,
        source=source,
        state=state,
        manifest_sha256=manifest_sha256(files, options) if files else "",
        size_bytes=sum(file["size_bytes"] for file in files),
        created_by=actor,
    )
    return created


def enqueue_inspection(version: DatasetVersion, actor: User) -> None:
    """Adds the version's inspection to the queue, in the present transaction."""
    organisation = version.dataset.project.organisation
    work_queue.enqueue(INSPECT, version.id, organisation=organisation, user=actor, size_bytes=version.size_bytes)


def manifest_sha256(files: list[dict[str, Any]], options: dict[str, Any] | None = None) -> str:
    """Names a version by its content: SHA-256 of the names, hashes and sizes of its files, in order of name, and of the
    options by which they are read, as canonical JSON. Without options it is the hash of the list of files alone.
    """
    listed: Any = sorted(files, key=lambda file: str(file["name"]))
    if options:
        listed = {"files": listed, "options": options}
    return hashlib.sha256(json.dumps(listed, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _conclude(version_id: UUID, *, state: VersionState, kind: str, **found: Any) -> bool:
    with transaction.atomic():
        open_states = [VersionState.INSPECTING]
        if state == VersionState.REFUSED:
            open_states.append(VersionState.FETCHING)
        moved = DatasetVersion.objects.filter(pk=version_id, state__in=open_states).update(
            state=state, inspected_at=timezone.now(), **found
        )
        if not moved:
            return False
        version = DatasetVersion.objects.select_related("dataset__project__organisation").get(pk=version_id)
        if state == VersionState.REFUSED:
            storage.release(owner_kind=OWNER_KIND, owner_id=version_id)
        facts = {"error": {k: v for k, v in found["error"].items() if k != "traceback"}} if "error" in found else {}
        record(
            kind,
            version.dataset,
            None,
            name=version.dataset.name,
            version_id=str(version_id),
            number=version.number,
            **facts,
        )
    return True


def record(kind: str, dataset: Dataset, actor: User | None, **facts: Any) -> None:
    """Appends an event about the dataset."""
    append(
        kind,
        organisation=dataset.project.organisation,
        subject_kind="dataset",
        subject_id=dataset.id,
        actor=actor,
        **facts,
    )
