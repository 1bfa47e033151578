# SPDX-License-Identifier: Apache-2.0
"""The clips of a version's preview as files that browsers play: read from the stored archive, not decoded."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from mlhub.core.errors import NotFoundError
from mlhub.datasets.archive_listings import BoundedReads, TooLongError
from mlhub.datasets.models import DatasetVersion, VersionState
from mlhub.storage.stores import blob_store

MAX_CLIP_BYTES = 8 * 2**20  # as the preview calls a clip playable
MEDIA_TYPES = {
    ".wav": "audio/wav", ".flac": "audio/flac", ".ogg": "audio/ogg", ".oga": "audio/ogg", ".opus": "audio/ogg",
    ".mp3": "audio/mpeg",
}  # fmt: skip


@dataclass(frozen=True)
class PreviewClip:
    """filename: without folders. etag: names the content, which never changes."""

    filename: str
    media_type: str
    etag: str
    content: bytes


def read_preview_clip(version: DatasetVersion, number: int) -> PreviewClip:
    """The clip of that number in the preview. Raises NotFoundError where there is none, or it is not kept."""
    clips = version.preview.get("clips") if isinstance(version.preview, dict) else None
    if version.state != VersionState.READY or not isinstance(clips, list) or not number < len(clips):
        raise NotFoundError(f"The version has no clip {number} in its preview.")
    clip, file = clips[number], _file_of(version, clips[number])
    path = PurePosixPath(str(clip["name"]))
    media_type = MEDIA_TYPES.get(path.suffix.lower())
    if media_type is None:
        raise NotFoundError(f"{path.name} is no clip.")
    try:
        content = _of_tar(file["sha256"], clip) if "offset" in clip else _of_zip(file["sha256"], str(clip["name"]))
    except (OSError, KeyError, ValueError, NotImplementedError, zipfile.BadZipFile, TooLongError) as error:
        raise NotFoundError(f"The clip {path.name} cannot be read from the stored file.") from error
    return PreviewClip(path.name, media_type, f"{file['sha256'][:32]}-{number}", content)


def _file_of(version: DatasetVersion, clip: Mapping[str, Any]) -> Mapping[str, Any]:
    """The file of the version in which the clip is: of several, the one that the preview names."""
    files: list[dict[str, Any]] = version.files
    found = next((file for file in files if clip.get("shard") in (None, "", file["name"])), None)
    if found is None:
        raise NotFoundError("The file of the clip is not kept.")
    return found


def _of_zip(sha256: str, name: str) -> bytes:
    with (
        blob_store().open(sha256) as file,
        zipfile.ZipFile(BoundedReads(file)) as archive,
        archive.open(name) as member,
    ):
        return _bounded(member.read(MAX_CLIP_BYTES + 1))


def _of_tar(sha256: str, clip: Mapping[str, Any]) -> bytes:
    with blob_store().open(sha256) as file:
        file.seek(int(clip["offset"]))
        return _bounded(file.read(min(int(clip["size"]), MAX_CLIP_BYTES + 1)))


def _bounded(content: bytes) -> bytes:
    if len(content) > MAX_CLIP_BYTES:
        raise ValueError(f"more than {MAX_CLIP_BYTES:,} bytes")
    return content
