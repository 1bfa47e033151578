# SPDX-License-Identifier: Apache-2.0
"""Files of runs, logged models and registered versions.

Those of a job's own run are the job's: what its pods log is an artifact of the live attempt. Those of a registered
version never change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError
from mlhub.events.changes import ChangeKind, report_change
from mlhub.jobs.models import Artifact, Job
from mlhub.metrics.actions import store_artifact
from mlhub.registry.models import ModelVersion
from mlhub.storage import actions as storage
from mlhub.storage.models import Blob, Holding
from mlhub.storage.stores import StagedBytes, blob_store
from mlhub.tracking.access import Caller
from mlhub.tracking.actions import OWNER_KIND, locked
from mlhub.tracking.job_runs import live_attempt
from mlhub.tracking.limits import check_path
from mlhub.tracking.models import LoggedModel, Run
from mlhub.wire.report import ARTIFACT_FOLDER, MAX_ARTIFACTS, is_output

FOLDER = "artifacts"  # of a run, in the addresses of its files
LOGGED_OWNER_KIND = "logged_model"  # of the blobs of a logged model's files
PACKAGE, WEIGHTS = "package.zip", "model.safetensors"  # of versions that MLHub itself made, as files
FileOwner = Run | Job | LoggedModel | ModelVersion


@dataclass(frozen=True)
class FileEntry:
    """path: relative to the folder that was listed."""

    path: str
    is_dir: bool
    size_bytes: int = 0


def store(caller: Caller, target: FileOwner, *, path: str, staging: StagedBytes) -> None:
    """Keeps the bytes as the file of that path; a former one of the path is replaced.

    Raises InvalidInputError, QuotaExceededError, NotAllowedError, ConflictError for a job that does not run, a run
    that is deleted, or a registered version.
    """
    changed = require_changeable(target)
    caller.require_logger(changed)
    check_path(path)
    sha256, size_bytes = staging.finish()
    if isinstance(changed, Job):
        name = f"{ARTIFACT_FOLDER}/{path}"
        if not is_output(name):
            raise InvalidInputError(f"{path[:200]!r} is too long for a job's artifact.", field="path")
        store_artifact(live_attempt(changed), name=name, staging=staging, sha256=sha256)
        return
    storage.require_room(changed.project, size_bytes=size_bytes, user=caller.user)
    blob_store().keep(staging)  # before the row is locked: a bucket may take minutes
    with transaction.atomic():
        rows = _locked_rows(changed)
        if rows.exclude(path=path).count() >= MAX_ARTIFACTS:
            raise InvalidInputError(
                f"There are {MAX_ARTIFACTS:,} files already.", field="path", remedy="Pack small files into one."
            )
        former = rows.filter(path=path).first()
        if former is not None and former.blob_id != sha256:
            caller.require_owner(changed)
        blob = storage.hold(
            changed.project,
            sha256=sha256,
            size_bytes=size_bytes,
            owner_kind=_owner_kind(changed),
            owner_id=changed.pk,
            user=caller.user,
        )
        rows.update_or_create(path=path, defaults={"blob": blob})
        if former is not None:
            _release(changed, former.blob_id)


def remove(caller: Caller, target: FileOwner, *, path: str) -> None:
    """A file, or all below a folder. Raises NotFoundError for a job, whose artifacts go with it, and where none is."""
    changed = require_changeable(target)
    caller.require_owner(changed)
    own = {} if isinstance(changed, Job) else files(changed)
    gone = [name for name in own if name == path or name.startswith(f"{path}/")]
    if not gone or isinstance(changed, Job):
        raise NotFoundError(f"There is no artifact {path[:200]}.", field="path")
    with transaction.atomic():
        rows = _locked_rows(changed).filter(path__in=gone)
        blobs = set(rows.values_list("blob", flat=True))
        rows.delete()
        for sha256 in blobs:
            _release(changed, sha256)


def require_changeable(target: FileOwner) -> Run | Job | LoggedModel:
    """Raises ConflictError for a registered version."""
    if isinstance(target, ModelVersion):
        raise ConflictError(
            "The files of a registered version do not change.", remedy="Log the model again and register that."
        )
    return target


def files(target: FileOwner) -> dict[str, Blob]:
    """Every file by its path. Of a job's: the newest attempt's of each name."""
    if isinstance(target, Job):
        left = Artifact.objects.filter(attempt__job=target, name__startswith=f"{ARTIFACT_FOLDER}/")
        found = left.select_related("blob").order_by("name", "attempt__number")
        return {a.name.removeprefix(f"{ARTIFACT_FOLDER}/"): a.blob for a in found}
    rows = _rows(target).select_related("blob").order_by("path")
    own = {row.path: row.blob for row in rows}
    if isinstance(target, ModelVersion):
        made = {PACKAGE: target.package, WEIGHTS: target.weights}
        own |= {path: blob for path, blob in made.items() if blob is not None}
    return own


def files_below(target: FileOwner, folder: str) -> dict[str, Blob]:
    """Those in the folder ("" = all), by their path within it."""
    prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
    return {path.removeprefix(prefix): blob for path, blob in files(target).items() if path.startswith(prefix)}


def listing(target: FileOwner, folder: str) -> list[FileEntry]:
    """What is directly in the folder ("" = the run's own), by name; of a file: nothing."""
    found: dict[str, FileEntry] = {}
    for path, blob in files_below(target, folder).items():
        first, _, rest = path.partition("/")
        found[first] = FileEntry(first, is_dir=True) if rest else FileEntry(first, False, blob.size_bytes)
    return [found[name] for name in sorted(found)]


def file_of(target: FileOwner, path: str) -> Blob:
    """Raises NotFoundError."""
    found = files(target).get(path)
    if found is None:
        raise NotFoundError(f"There is no artifact {path[:200]}.", field="path")
    return found


def _rows(target: Run | LoggedModel | ModelVersion) -> Any:
    return target.artifacts if isinstance(target, Run) else target.files


def _locked_rows(target: Run | LoggedModel) -> Any:
    """The files of a run or a logged model, whose row is locked for a change of them, which is reported."""
    if isinstance(target, Run):
        return locked(target).artifacts
    found = LoggedModel.objects.select_for_update(of=("self",)).get(pk=target.pk)
    report_change(ChangeKind.RUN, organisation_id=target.project.organisation_id)
    return found.files


def _owner_kind(target: Run | LoggedModel) -> str:
    return OWNER_KIND if isinstance(target, Run) else LOGGED_OWNER_KIND


def _release(target: Run | LoggedModel, sha256: str) -> None:
    """Lets go of bytes that no file of it names any more."""
    if not _rows(target).filter(blob=sha256).exists():
        Holding.objects.filter(owner_kind=_owner_kind(target), owner_id=target.pk, blob=sha256).delete()
