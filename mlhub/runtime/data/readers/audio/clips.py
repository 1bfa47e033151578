# SPDX-License-Identifier: Apache-2.0
"""The clips of an archive, a zip or tar files, with the classes that their folders name."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from mlhub.runtime.data.archives import open_archive
from mlhub.runtime.data.readers.pictures import HELD_OUT
from mlhub.runtime.data.readers.tars import TarMember, TarShards
from mlhub.runtime.data.shard_folders import shards_in
from mlhub.runtime.errors import BadInputError
from mlhub.wire.formats import AUDIO_SUFFIXES

MAX_FILE_BYTES = 512 * 2**20
LAYOUT = "Pack one folder a class: dog/1.wav, rain/1.wav; or train/dog/1.wav and test/dog/1.wav."


@dataclass(frozen=True)
class Clip:
    """name: its path in the archive. label: "" where it is in no folder. size_bytes: of the file, unpacked."""

    name: str
    label: str
    is_held_out: bool
    size_bytes: int
    place: TarMember | None = None


class ClipArchive:
    """clips: in the order of their names, held-out ones last. Raises BadInputError for an archive without any."""

    def __init__(self, path: Path) -> None:
        self._zip: zipfile.ZipFile | None = None
        self._tar: TarShards | None = None
        if path.is_file() and zipfile.is_zipfile(path):
            self._zip = open_archive(path)
            if any(name.lower().endswith(".tar") for name in self._zip.namelist()):
                self._zip.close()
                self._zip = None
        if self._zip is None:
            self._tar = TarShards(path)
        self._shards = [shard.name for shard in shards_in(path)] if path.is_dir() else [""]
        self.clips = sorted(self._found(), key=lambda clip: (clip.is_held_out, clip.name))
        if not self.clips:
            raise BadInputError(
                "There is no audio in the archive.",
                field="file",
                remedy=f"{LAYOUT} Clips end in {', '.join(AUDIO_SUFFIXES)}. "
                "For a script that reads the files by itself, give the format files.",
            )

    def read(self, clip: Clip) -> bytes:
        """The bytes of a clip; threads may read at once. Raises BadInputError."""
        if clip.place is not None:
            assert self._tar is not None
            return self._tar.read(clip.place)
        assert self._zip is not None
        try:
            return self._zip.read(clip.name)
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise BadInputError(
                f"{clip.name} cannot be unpacked: {error}.", field="file", remedy="Make the archive again."
            ) from error

    def described(self, clip: Clip) -> dict[str, Any]:
        """Where its bytes are, for who reads the upload without this class: of a tar file their place in it."""
        place = clip.place
        if place is None:
            return {"name": clip.name}
        return {"name": clip.name, "offset": place.offset, "size": place.size, "shard": self._shards[place.file]}

    def _found(self) -> Iterator[Clip]:
        if self._zip is not None:
            yield from _clips((info.filename, info.file_size, None) for info in self._zip.infolist())
            return
        assert self._tar is not None
        seen = set[str]()
        for shard, members in self._tar.shards():
            for clip in _clips((member.name, member.size, member) for member in members):
                name = f"{shard}/{clip.name}" if clip.name in seen else clip.name
                seen.add(name)
                yield Clip(name, clip.label, clip.is_held_out, clip.size_bytes, clip.place)


def numbers_of(labels: Mapping[str, int]) -> dict[str, int]:
    """The number of each class, in the order of names."""
    return {label: i for i, label in enumerate(sorted(labels))}


def _clips(members: Iterable[tuple[str, int, TarMember | None]]) -> Iterator[Clip]:
    for name, size, place in members:
        path = PurePosixPath(name)
        is_litter = any(part.startswith((".", "__MACOSX")) for part in path.parts)
        if path.suffix.lower() in AUDIO_SUFFIXES and not is_litter:
            *above, label = path.parts[:-1] or ("",)
            is_held_out = any(part.lower() in HELD_OUT for part in above)
            yield Clip(str(path) if place else name, label, is_held_out, size, place)
