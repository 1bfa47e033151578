# SPDX-License-Identifier: Apache-2.0
"""Writes to resumable uploads: begun with a length, written piece by piece, used once whole, or removed.

The row's offset is the truth. Bytes are stored before it moves on, so a process that is killed in between leaves bytes
that the next piece overwrites, and never an offset without its bytes. Order of locks: the upload, then those of
actions.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import PurePath
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError, TooLargeError, UnavailableError
from mlhub.core.installation import is_restored_lately
from mlhub.storage import actions
from mlhub.storage.models import ResumableUpload, UploadPart
from mlhub.storage.spools import BytesMissingError
from mlhub.storage.stores import StagedBytes, blob_store
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import Project, User
from mlhub.tenants.roles import Role

logger = structlog.stdlib.get_logger(__name__)
KIND = "uploads"  # of what expires
MAX_UNDER_WAY = 200  # of one user
MAX_PIECE_BYTES = 16 * 2**20
MAX_FILENAME = 255
ORPHANED_FOR = timedelta(days=1)
LOCKED = "upload_locked"


def begin(
    project: Project, *, length_bytes: int, filename: str, metadata: str = "", is_partial: bool = False, actor: User
) -> ResumableUpload:
    """An empty upload, whose length is reserved in the organisation's quota.

    Raises TooLargeError, QuotaExceededError, ConflictError when the user has too many under way.
    """
    require_role(actor, project, Role.MEMBER)
    require_open(project)
    _require_allowed_length(length_bytes)
    with transaction.atomic():
        actions.reserve(project, size_bytes=length_bytes, user=actor)
        require_few(actor)
        created: ResumableUpload = ResumableUpload.objects.create(
            project=project,
            user=actor,
            filename=_name_of(filename),
            metadata=metadata,
            length_bytes=length_bytes,
            is_partial=is_partial,
        )
    return created


def join(
    project: Project, parts: Sequence[ResumableUpload], *, filename: str, metadata: str = "", actor: User
) -> ResumableUpload:
    """The upload that is the concatenation of whole partial ones, which live as long as it from here on.

    Raises ConflictError, InvalidInputError, TooLargeError.
    """
    require_role(actor, project, Role.MEMBER)
    require_open(project)
    for part in parts:
        if not part.is_partial or part.project_id != project.pk:
            raise InvalidInputError(
                f"{part.pk} is no partial upload to {project.name}.",
                field="Upload-Concat",
                remedy="Name uploads that were made with Upload-Concat: partial.",
            )
        _require_whole(part, field="Upload-Concat")
    total = sum(part.length_bytes for part in parts)
    _require_allowed_length(total)
    with transaction.atomic():
        require_few(actor)
        ResumableUpload.objects.filter(pk__in=[part.pk for part in parts]).update(written_at=timezone.now())
        created: ResumableUpload = ResumableUpload.objects.create(
            project=project,
            user=actor,
            filename=_name_of(filename),
            metadata=metadata,
            length_bytes=total,
            offset_bytes=total,
            part_ids=[str(part.pk) for part in parts],
        )
    return created


def append(upload: ResumableUpload, content: bytes, *, offset: int, actor: User) -> ResumableUpload:
    """Stores a piece, all of it or nothing, and returns the upload as it is then.

    Raises ConflictError for another offset than the upload's (the fact offset_bytes says which), with the code
    upload_locked while another request writes, and TooLargeError beyond its length.
    """
    require_role(actor, upload.project, Role.MEMBER)
    with transaction.atomic():
        locked = _locked(upload.pk)
        if offset != locked.offset_bytes:
            raise _wrong_offset(offset, locked.offset_bytes)
        end = offset + len(content)
        if end > locked.length_bytes:
            raise TooLargeError(
                f"The upload has {locked.length_bytes:,} bytes, and this piece ends at {end:,}.",
                field="Upload-Length",
                remedy="Begin another upload with the right length.",
                limit_bytes=locked.length_bytes,
            )
        if content:
            _store(locked, content)
    return locked


def offset_of(upload: ResumableUpload) -> int:
    """Where the upload goes on. That is earlier than it was when the store lost bytes, as a restored database finds."""
    if upload.part_ids or upload.n_parts:
        return upload.offset_bytes
    found = blob_store().spool().size(upload.pk)
    if found < upload.offset_bytes:
        ResumableUpload.objects.filter(pk=upload.pk, offset_bytes=upload.offset_bytes).update(offset_bytes=found)
        upload.offset_bytes = found
    return upload.offset_bytes


def remove(upload: ResumableUpload) -> None:
    """The upload, its parts and its bytes; the reservation ends."""
    ids = [upload.pk, *_parts_of(upload)]
    with transaction.atomic():
        ResumableUpload.objects.filter(pk__in=ids).delete()
        transaction.on_commit(partial(discard_used, ids))


@contextmanager
def consumed(upload_id: UUID, *, project: Project, actor: User) -> Iterator[tuple[StagedBytes, str]]:
    """The staged bytes and the filename of a whole upload, which is gone if the block succeeds and stays if it fails.

    The block runs in a transaction. Raises NotFoundError, ConflictError while a byte is missing, InvalidInputError for
    an upload to another project.
    """
    upload: ResumableUpload = ResumableUpload.objects.get_visible(actor, upload_id, field="upload")
    if upload.project_id != project.pk or upload.is_partial or upload.n_parts:
        raise InvalidInputError(
            f"The upload {upload_id} is not a whole file of {project.name}.",
            field="upload",
            remedy=f"Name one that was begun with the project {project.name}.",
        )
    _require_whole(upload, field="upload")
    with taken(upload) as staging:
        yield staging, upload.filename


@contextmanager
def taken(upload: ResumableUpload) -> Iterator[StagedBytes]:
    """The staged bytes of a whole upload, as of consumed(); who may use it for what, the caller has looked at."""
    ids = [upload.pk, *_parts_of(upload)]
    of = _parts_of(upload) or [upload.pk]
    with blob_store().spool().gather(of, limit_bytes=upload.length_bytes) as staging:
        if staging.finish().size_bytes != upload.length_bytes:
            raise _lost(upload)
        if not upload.length_bytes:
            raise InvalidInputError("The file is empty.", field="upload", remedy="Send a file with content.")
        with transaction.atomic():
            if not ResumableUpload.objects.filter(pk=upload.pk).delete()[0]:
                raise NotFoundError(
                    f"The upload {upload.pk} was used already.",
                    field="upload",
                    remedy="Something was made of it in another window or by another program: look in the list.",
                )
            ResumableUpload.objects.filter(pk__in=ids).delete()
            transaction.on_commit(partial(discard_used, ids))
            yield staging


def expires_at(upload: ResumableUpload) -> datetime | None:
    """When it is removed unless more bytes arrive; None: never."""
    days = settings.KEPT_DAYS[KIND]
    return upload.written_at + timedelta(days=days) if days else None


def remove_written_before(before: datetime, *, limit: int) -> int:
    """Removes uploads that no bytes have arrived of since then; returns how many."""
    due = list(ResumableUpload.objects.filter(written_at__lt=before).order_by("written_at", "id")[:limit])
    return sum(_remove_unless_written(upload.pk, since=before) for upload in due)


def _remove_unless_written(upload_id: UUID, *, since: datetime) -> bool:
    """Removes the upload, unless a request writes to it, or has done so since then."""
    with transaction.atomic():
        rows = ResumableUpload.objects.filter(pk=upload_id, written_at__lt=since)
        found = rows.select_for_update(skip_locked=True).first()
        if found is not None:
            remove(found)
    return found is not None


def sweep_orphans() -> int:
    """Removes bytes of uploads that have no row, such as those of a deleted account; returns of how many uploads.

    For a while after a restore nothing is removed: the uploads may be newer than the backup.
    """
    if is_restored_lately(timezone.now()):
        return 0
    spool = blob_store().spool()
    old = set(spool.older_than(ORPHANED_FOR.total_seconds()))
    known = [
        rows.filter(pk__in=old).values_list("pk", flat=True) for rows in (ResumableUpload.objects, UploadPart.objects)
    ]
    orphans = sorted(old.difference(*known))
    _discard(orphans)
    return len(orphans)


def _store(upload: ResumableUpload, content: bytes) -> None:
    try:
        blob_store().spool().append(upload.pk, content, offset=upload.offset_bytes)
    except BytesMissingError as error:
        raise _lost(upload) from error
    upload.offset_bytes += len(content)
    upload.written_at = timezone.now()
    upload.save(update_fields=["offset_bytes", "written_at"])


def _locked(upload_id: UUID) -> ResumableUpload:
    rows = ResumableUpload.objects.select_related("project__organisation").filter(pk=upload_id)
    found: ResumableUpload | None = rows.select_for_update(skip_locked=True, of=("self",)).first()
    if found is not None:
        return found
    if rows.exists():
        raise ConflictError(
            "Another request writes to this upload.", code=LOCKED, remedy="Ask for the offset with HEAD, then go on."
        )
    raise NotFoundError(f"There is no upload {upload_id} that you may see.")


def _require_whole(upload: ResumableUpload, *, field: str) -> None:
    if not upload.is_whole:
        raise ConflictError(
            f"{upload.filename} is not whole: {upload.offset_bytes:,} of {upload.length_bytes:,} bytes have arrived.",
            code="upload_incomplete",
            field=field,
            remedy="Send the rest, by the same client or by PATCH, then try again.",
            offset_bytes=upload.offset_bytes,
            length_bytes=upload.length_bytes,
        )


def _require_allowed_length(length_bytes: int) -> None:
    if length_bytes > settings.MAX_RESUMABLE_UPLOAD_BYTES:
        raise TooLargeError(
            f"The upload is larger than {settings.MAX_RESUMABLE_UPLOAD_BYTES:,} bytes.",
            field="Upload-Length",
            remedy="Send less, or ask an administrator to raise MLHUB_MAX_RESUMABLE_UPLOAD_BYTES.",
            limit_bytes=settings.MAX_RESUMABLE_UPLOAD_BYTES,
        )


def require_few(user: User) -> None:
    """Raises ConflictError when the user has too many uploads under way."""
    if ResumableUpload.objects.filter(user=user).count() >= MAX_UNDER_WAY:
        raise ConflictError(
            f"You have {MAX_UNDER_WAY} uploads under way.",
            code="too_many_uploads",
            remedy="Finish some, or remove them: DELETE /api/v1/uploads/ID.",
            limit=MAX_UNDER_WAY,
        )


def _wrong_offset(given: int, offset: int) -> ConflictError:
    return ConflictError(
        f"The upload goes on at byte {offset:,}, not {given:,}.",
        code="wrong_offset",
        field="Upload-Offset",
        remedy="Ask for the offset with HEAD, and send from there.",
        offset_bytes=offset,
    )


def _lost(upload: ResumableUpload) -> ConflictError:
    return ConflictError(
        f"Bytes of {upload.filename} are gone from the store, as after a restore.",
        code="upload_lost",
        field="upload",
        remedy="Ask for the offset with HEAD, and send from there.",
    )


def _parts_of(upload: ResumableUpload) -> list[UUID]:
    if upload.n_parts:
        return list(upload.parts.order_by("number").values_list("pk", flat=True))
    return [UUID(part_id) for part_id in upload.part_ids]


def _name_of(filename: str) -> str:
    """The last segment, as browsers and other systems write paths."""
    return PurePath(filename.replace("\\", "/")).name[-MAX_FILENAME:] or "file"


def discard_used(upload_ids: Sequence[UUID]) -> None:
    """Removes bytes of what was committed as gone. What the store cannot remove now is swept as orphans later: the
    request has succeeded, and what else follows its commit must not wait for that."""
    try:
        _discard(upload_ids)
    except (UnavailableError, OSError) as error:
        logger.warning("storage.pieces_left", uploads=[str(upload_id) for upload_id in upload_ids], error=str(error))


def _discard(upload_ids: Sequence[UUID]) -> None:
    spool = blob_store().spool()
    for upload_id in upload_ids:
        spool.discard(upload_id)
