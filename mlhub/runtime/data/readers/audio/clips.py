# SPDX-License-Identifier: Apache-2.0
"""The clips of an archive, a zip or tar files, with the classes that their folders name."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from mlhub.runtime.data.archives import open_archive
from mlhub.runtime.data.readers.pictures import HELD_OUT
from mlhub.runtime.data.readers.shard_labels import CLASS_SUFFIX, JSON_SUFFIX, is_held_out, label_of
from mlhub.runtime.data.readers.tars import TarMember, TarShards
from mlhub.runtime.data.shard_folders import shards_in
from mlhub.runtime.errors import BadInputError
from mlhub.wire.formats import AUDIO_SUFFIXES

MAX_FILE_BYTES = 512 * 2**20
LAYOUT = "Pack one folder a class: dog/1.wav, rain/1.wav; or train/dog/1.wav and test/dog/1.wav."
SHARDS_LAYOUT = "In a tar give each clip a class of the same name: 000.flac and 000.cls, or 000.json with a field."


@dataclass(frozen=True)
class Clip:
    """name: its path in the archive. label: "" where it is in no folder. size_bytes: of the file, unpacked."""

    name: str
    label: str
    is_held_out: bool
    size_bytes: int
    place: TarMember | None = None


class ClipArchive:
    """clips: in the order of their names, held-out ones last. Raises BadInputError for an archive without any.

    In tar files a clip may have its class next to it, as WebDataset writes it: 000.flac with 000.cls or 000.json.
    field: of the JSON. has_targets: whether these files are read.
    """

    def __init__(self, path: Path, *, field: str | None = None, has_targets: bool = True) -> None:
        self._field, self._has_targets = field, has_targets
        self._zip: zipfile.ZipFile | None = None
        self._tar: TarShards | None = None
        if path.is_file() and zipfile.is_zipfile(path):
            self._zip = open_archive(path)
            if any(name.lower().endswith(".tar") for name in self._zip.namelist()):
                self._zip.close()
                self._zip = None
        if self._zip is not None and field is not None:
            raise BadInputError(
                "In a zip folders name the classes of clips.",
                field="target",
                remedy=f"Leave target out. {SHARDS_LAYOUT}",
            )
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
            listed = list(members)
            labels = _labels_of(listed)
            for clip in _clips((member.name, member.size, member) for member in listed):
                clip = self._labelled(clip, shard, labels.get(_key(clip.name), {}))
                name = f"{shard}/{clip.name}" if clip.name in seen else clip.name
                seen.add(name)
                yield Clip(name, clip.label, clip.is_held_out, clip.size_bytes, clip.place)

    def _labelled(self, clip: Clip, shard: str, labels: Mapping[str, TarMember]) -> Clip:
        """With the class that is next to it. JSON counts where a field of it is named, or no folder names the class."""
        counts = self._field is not None or CLASS_SUFFIX in labels or (JSON_SUFFIX in labels and not clip.label)
        if not counts or not self._has_targets:
            return clip
        assert self._tar is not None
        label = label_of(self._tar, clip.name, labels, field=self._field, layout=SHARDS_LAYOUT)
        return replace(clip, label=label, is_held_out=is_held_out(shard, clip.name))


def numbers_of(labels: Mapping[str, int]) -> dict[str, int]:
    """The number of each class, in the order of names."""
    return {label: i for i, label in enumerate(sorted(labels))}


def _labels_of(members: Iterable[TarMember]) -> dict[str, dict[str, TarMember]]:
    """By the key of a sample the files that may have its class, by their suffixes."""
    found: dict[str, dict[str, TarMember]] = {}
    for member in members:
        suffix = PurePosixPath(member.name).suffix.lower()
        if suffix in (CLASS_SUFFIX, JSON_SUFFIX):
            found.setdefault(_key(member.name), {})[suffix] = member
    return found


def _key(name: str) -> str:
    """What the files of one sample are called before the first dot."""
    path = PurePosixPath(name)
    return str(path.with_name(path.name.partition(".")[0] or path.name))


def _clips(members: Iterable[tuple[str, int, TarMember | None]]) -> Iterator[Clip]:
    for name, size, place in members:
        path = PurePosixPath(name)
        is_litter = any(part.startswith((".", "__MACOSX")) for part in path.parts)
        if path.suffix.lower() in AUDIO_SUFFIXES and not is_litter:
            *above, label = path.parts[:-1] or ("",)
            is_held_out = any(part.lower() in HELD_OUT for part in above)
            yield Clip(str(path) if place else name, label, is_held_out, size, place)
