# SPDX-License-Identifier: Apache-2.0
"""Files of runs. Those of a job's own run are the job's: what its pods log is an artifact of the live attempt."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from mlhub.core.errors import InvalidInputError, NotFoundError
from mlhub.jobs.models import Artifact, Job
from mlhub.metrics.actions import store_artifact
from mlhub.storage import actions as storage
from mlhub.storage.models import Blob, Holding
from mlhub.storage.stores import Staging, blob_store
from mlhub.tracking.access import Caller
from mlhub.tracking.actions import OWNER_KIND, locked
from mlhub.tracking.job_runs import live_attempt
from mlhub.tracking.limits import check_path
from mlhub.tracking.models import Run, RunArtifact
from mlhub.wire.report import ARTIFACT_FOLDER, MAX_ARTIFACTS, is_output

FOLDER = "artifacts"  # of a run, in the addresses of its files


@dataclass(frozen=True)
class FileEntry:
    """path: relative to the folder that was listed."""

    path: str
    is_dir: bool
    size_bytes: int = 0


def store(caller: Caller, target: Run | Job, *, path: str, staging: Staging) -> None:
    """Keeps the bytes as the file of that path; a former one of the path is replaced.

    Raises InvalidInputError, QuotaExceededError, NotAllowedError, ConflictError for a job that does not run or a run
    that is deleted.
    """
    caller.require_logger(target)
    check_path(path)
    sha256, size_bytes = staging.finish()
    if isinstance(target, Job):
        name = f"{ARTIFACT_FOLDER}/{path}"
        if not is_output(name):
            raise InvalidInputError(f"{path[:200]!r} is too long for a job's artifact.", field="path")
        store_artifact(live_attempt(target), name=name, staging=staging, sha256=sha256)
        return
    organisation = target.project.organisation
    storage.require_room(organisation, size_bytes=size_bytes, user=caller.user)
    blob_store().keep(staging)  # before the run's row is locked: a bucket may take minutes
    with transaction.atomic():
        run = locked(target)
        if run.artifacts.exclude(path=path).count() >= MAX_ARTIFACTS:
            raise InvalidInputError(
                f"The run has {MAX_ARTIFACTS:,} files already.", field="path", remedy="Pack small files into one."
            )
        former = run.artifacts.filter(path=path).first()
        if former is not None and former.blob_id != sha256:
            caller.require_owner(target)
        blob = storage.hold(
            organisation,
            sha256=sha256,
            size_bytes=size_bytes,
            owner_kind=OWNER_KIND,
            owner_id=run.pk,
            user=caller.user,
        )
        RunArtifact.objects.update_or_create(run=run, path=path, defaults={"blob": blob})
        if former is not None:
            _release(run, former.blob_id)


def remove(caller: Caller, target: Run | Job, *, path: str) -> None:
    """A file, or all below a folder. Raises NotFoundError for a job, whose artifacts go with it, and where none is."""
    caller.require_owner(target)
    own = files(target) if isinstance(target, Run) else {}
    gone = [name for name in own if name == path or name.startswith(f"{path}/")]
    if not gone or isinstance(target, Job):
        raise NotFoundError(f"The run has no artifact {path[:200]}.", field="path")
    with transaction.atomic():
        run = locked(target)
        rows = run.artifacts.filter(path__in=gone)
        blobs = set(rows.values_list("blob", flat=True))
        rows.delete()
        for sha256 in blobs:
            _release(run, sha256)


def files(target: Run | Job) -> dict[str, Blob]:
    """Every file by its path. Of a job's: the newest attempt's of each name."""
    if isinstance(target, Run):
        return {a.path: a.blob for a in target.artifacts.select_related("blob").order_by("path")}
    left = Artifact.objects.filter(attempt__job=target, name__startswith=f"{ARTIFACT_FOLDER}/")
    rows = left.select_related("blob").order_by("name", "attempt__number")
    return {a.name.removeprefix(f"{ARTIFACT_FOLDER}/"): a.blob for a in rows}


def listing(target: Run | Job, folder: str) -> list[FileEntry]:
    """What is directly in the folder ("" = the run's own), by name; of a file: nothing."""
    prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
    found: dict[str, FileEntry] = {}
    for path, blob in files(target).items():
        if path.startswith(prefix):
            first, _, rest = path.removeprefix(prefix).partition("/")
            found[first] = FileEntry(first, is_dir=True) if rest else FileEntry(first, False, blob.size_bytes)
    return [found[name] for name in sorted(found)]


def file_of(target: Run | Job, path: str) -> Blob:
    """Raises NotFoundError."""
    found = files(target).get(path)
    if found is None:
        raise NotFoundError(f"The run has no artifact {path[:200]}.", field="path")
    return found


def _release(run: Run, sha256: str) -> None:
    """Lets go of bytes that no artifact of the run names any more."""
    if not run.artifacts.filter(blob=sha256).exists():
        Holding.objects.filter(owner_kind=OWNER_KIND, owner_id=run.pk, blob=sha256).delete()
