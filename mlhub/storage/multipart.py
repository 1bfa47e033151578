# SPDX-License-Identifier: Apache-2.0
"""Multipart uploads: parts that arrive at the same time, in any order, and are joined at the end, as S3 has them.

A part's bytes are stored under an id of their own before the row that counts them, so a process that is killed in
between leaves bytes that are swept, and never a part without its bytes. What has arrived counts as used storage. An
upload of which nothing arrives any more expires, as other uploads do. A completed one is remembered for a day, since
the answer may be lost, and a client that repeats its request must not be answered that there is no such upload.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from mlhub.core.errors import InvalidInputError, NotFoundError, TooLargeError
from mlhub.core.ids import new_id
from mlhub.storage import actions
from mlhub.storage.models import CompletedUpload, ResumableUpload, UploadPart
from mlhub.storage.resumable import discard_used, require_few, taken
from mlhub.storage.stores import StagedBytes, blob_store
from mlhub.tenants.models import Project, User

MAX_PARTS = 10_000  # as of S3
PIECE_BYTES = 8 * 2**20
MAX_FILENAME = 255
MOST_NAMED = 5  # missing parts in an error
REMEMBERED_FOR = timedelta(days=1)  # a completed upload; clients repeat a request for minutes at most


def begin(project: Project, *, n_parts: int, place: str, user: User) -> ResumableUpload:
    """place: where the file is to be once it is whole. Raises InvalidInputError, ConflictError for too many uploads."""
    if not 1 <= n_parts <= MAX_PARTS:
        raise InvalidInputError(
            f"An upload of {n_parts:,} parts is not possible.",
            field="num_parts",
            remedy=f"Send 1 to {MAX_PARTS:,} parts: of a larger file, larger ones.",
        )
    with transaction.atomic():
        require_few(user)
        created: ResumableUpload = ResumableUpload.objects.create(
            project=project,
            user=user,
            filename=place.rpartition("/")[2][-MAX_FILENAME:],
            metadata=place,
            length_bytes=0,
            n_parts=n_parts,
        )
    return created


def upload_of(user: User, upload_id: UUID | str, *, place: str | None = None) -> ResumableUpload:
    """The user's own upload, to that place when one is named. Raises NotFoundError."""
    rows = ResumableUpload.objects.filter(user=user, n_parts__gt=0).select_related("project__organisation")
    found: ResumableUpload | None = rows.filter(pk=upload_id).first()
    if found is None or place not in (None, found.metadata):
        raise NotFoundError(
            f"There is no multipart upload {upload_id}; it may be complete, aborted or expired.", field="upload_id"
        )
    return found


def put_part(upload: ResumableUpload, number: int, read: Callable[[int], bytes]) -> str:
    """Stores a part; one that came before under its number is replaced. Returns the SHA-256 of its bytes.

    read: gives the next bytes, at most so many. Raises InvalidInputError for a number that the upload does not have,
    QuotaExceededError, TooLargeError, NotFoundError when the upload is gone meanwhile.
    """
    if not 1 <= number <= upload.n_parts:
        raise InvalidInputError(f"The upload has parts 1 to {upload.n_parts}, not {number}.", field="part_number")
    part = UploadPart(pk=new_id(), upload=upload, number=number, size_bytes=0)
    spool, digest = blob_store().spool(), hashlib.sha256()
    try:
        while content := read(PIECE_BYTES):
            _require_allowed(part.size_bytes + len(content))
            spool.append(part.pk, content, offset=part.size_bytes)
            digest.update(content)
            part.size_bytes += len(content)
        part.sha256 = digest.hexdigest()
        _count(part)
    except BaseException:
        discard_used([part.pk])
        raise
    return part.sha256


def bytes_of_part(upload: ResumableUpload, number: int) -> int:
    """How many have arrived under that number."""
    return upload.parts.filter(number=number).values_list("size_bytes", flat=True).first() or 0


def _count(part: UploadPart) -> None:
    """Makes the part one of its upload, whose length grows by it."""
    with transaction.atomic():
        upload = ResumableUpload.objects.select_for_update().filter(pk=part.upload_id).first()
        if upload is None:
            raise NotFoundError(f"The upload {part.upload_id} is gone meanwhile.", field="upload_id")
        former = UploadPart.objects.filter(upload=upload, number=part.number).first()
        growth = part.size_bytes - (0 if former is None else former.size_bytes)
        _require_allowed(upload.length_bytes + growth)
        actions.reserve(part.upload.project, size_bytes=max(0, growth), user=upload.user)
        if former is not None:
            transaction.on_commit(partial(discard_used, [former.pk]))
            former.delete()
        part.save(force_insert=True)
        upload.length_bytes = upload.offset_bytes = upload.length_bytes + growth
        upload.written_at = timezone.now()
        upload.save(update_fields=["length_bytes", "offset_bytes", "written_at"])


@contextmanager
def joined(upload: ResumableUpload, named: Mapping[int, str]) -> Iterator[StagedBytes]:
    """The staged bytes of all parts in their order. The upload is gone if the block, which runs in a transaction,
    succeeds. named: the SHA-256 of each part as put_part returned it. Raises InvalidInputError."""
    stored = dict(upload.parts.values_list("number", "sha256"))
    numbers = range(1, upload.n_parts + 1)
    if missing := [number for number in numbers if number not in stored]:
        shown = ", ".join(map(str, missing[:MOST_NAMED])) + (" ..." if len(missing) > MOST_NAMED else "")
        raise InvalidInputError(
            f"{len(missing):,} of {upload.n_parts:,} parts have not arrived: {shown}.",
            field="parts",
            remedy="Send them, then complete the upload again.",
        )
    if wrong := [number for number in numbers if named.get(number) != stored[number]]:
        raise InvalidInputError(
            f"The ETag of part {wrong[0]} is not the one that it was stored with.",
            field="parts",
            remedy="Name every part, with the ETag that its upload was answered with.",
        )
    with taken(upload) as staging:
        yield staging
        CompletedUpload.objects.create(
            pk=upload.pk,
            project=upload.project,
            user=upload.user,
            place=upload.metadata,
            parts_sha256=_parts_sha256(named),
        )


def was_completed(user: User, upload_id: UUID, named: Mapping[int, str], *, place: str) -> bool:
    """Whether the user has completed this upload to that place with these very parts, in the last day."""
    rows = CompletedUpload.objects.filter(completed_at__gt=timezone.now() - REMEMBERED_FOR)
    return rows.filter(pk=upload_id, user=user, place=place, parts_sha256=_parts_sha256(named)).exists()


def forget_completed() -> int:
    """Removes what is not remembered any longer; returns how many."""
    return int(CompletedUpload.objects.filter(completed_at__lte=timezone.now() - REMEMBERED_FOR).delete()[0])


def _parts_sha256(named: Mapping[int, str]) -> str:
    return hashlib.sha256(json.dumps(sorted(named.items())).encode()).hexdigest()


def _require_allowed(size_bytes: int) -> None:
    limit = settings.MAX_RESUMABLE_UPLOAD_BYTES
    if size_bytes > limit:
        raise TooLargeError(
            f"The upload is larger than {limit:,} bytes.",
            field="file",
            remedy="Send less, or ask an administrator to raise MLHUB_MAX_RESUMABLE_UPLOAD_BYTES.",
            limit_bytes=limit,
        )
