# SPDX-License-Identifier: Apache-2.0
"""A zip of images, one folder a class: class/picture.png, also below one common folder, or below train/ and test/.

Small ones are decoded once. With the option image_size they have that size, and are decoded whenever they are read.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from mlhub.runtime.data.archives import open_archive
from mlhub.runtime.data.readers.examples import Array, Examples, InspectionResult, no_targets, wants_targets
from mlhub.runtime.data.readers.pictures import (
    HELD_OUT,
    KINDS,
    SCALE,
    SUFFIXES,
    WHEN_READ,
    PicturesWhenRead,
    check_labels,
    described_classes,
    moments_of,
    pixels,
    preview_of,
    size_of_all,
)
from mlhub.runtime.errors import BadInputError

MAX_MEMORY_BYTES = 2 * 2**30
N_AT_ONCE = 64
LAYOUT = "Pack one folder a class: cats/1.png, dogs/1.png; or train/cats/1.png and test/cats/1.png."


@dataclass(frozen=True)
class Picture:
    member: str
    label: str
    is_held_out: bool


class ImageFolderReader:
    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        has_targets = wants_targets(options)
        with open_archive(path) as archive:
            pictures = _pictures(archive, has_targets=has_targets)
            raw = ((_read(archive, picture), picture.member) for picture in pictures)
            (width, height), channels, n_sizes = size_of_all(raw, options)
            labels = Counter(p.label for p in pictures)
            n_bytes = len(pictures) * channels * width * height
            is_decoded_when_read = options.get("image_size") is not None
            if n_bytes > MAX_MEMORY_BYTES and not is_decoded_when_read:
                raise BadInputError(
                    f"{len(pictures):,} images of {width} x {height} take {n_bytes:,} bytes.",
                    field="file",
                    remedy=f"At most {MAX_MEMORY_BYTES:,} bytes fit: use fewer or smaller images, or give an "
                    "image_size, by which they are decoded when they are read.",
                )
            schema = {
                "n_examples": len(pictures),
                "n_held_out": sum(p.is_held_out for p in pictures),
                "input_shape": [channels, height, width],
                "n_sizes": n_sizes,
                **({"decoding": WHEN_READ} if is_decoded_when_read else {}),
                **(described_classes(labels, sorted(labels)) if has_targets else {"task": "none"}),
            }

            def pixels_at(i: int) -> Array:
                return _pixels(archive, pictures[i], schema)

            schema |= moments_of(pixels_at, schema) if has_targets else {}
            return InspectionResult(schema, preview_of(pixels_at, [p.label for p in pictures]))

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        if schema.get("decoding") == WHEN_READ:
            return _when_read(path, schema)
        inputs, targets = zip(*self.parts(path, schema), strict=True)
        return Examples(np.concatenate(inputs), np.concatenate(targets), scale=self.scale(schema))

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        has_targets = schema.get("has_targets", True)
        number = {label: i for i, label in enumerate(schema["classes"])}
        with open_archive(path) as archive:
            pictures = _pictures(archive, has_targets=has_targets)
            for start in range(0, len(pictures), N_AT_ONCE):
                some = pictures[start : start + N_AT_ONCE]
                part = np.stack([_pixels(archive, picture, schema) for picture in some])
                labels = [number[picture.label] for picture in some] if has_targets else no_targets(len(some))
                yield part, np.asarray(labels, dtype=np.int64)

    def names(self, path: Path) -> list[str]:
        """Of the pictures in the archive, in the order of the examples."""
        with open_archive(path) as archive:
            return [picture.member for picture in _pictures(archive, has_targets=False)]

    def scale(self, schema: Mapping[str, Any]) -> float:  # noqa: ARG002 (the protocol's signature)
        return SCALE


READER = ImageFolderReader()


def _when_read(path: Path, schema: Mapping[str, Any]) -> Examples:
    has_targets = schema.get("has_targets", True)
    archive = open_archive(path)
    pictures = _pictures(archive, has_targets=has_targets)
    number = {label: i for i, label in enumerate(schema["classes"])} if has_targets else {}
    labels = [number[picture.label] for picture in pictures] if has_targets else no_targets(len(pictures))
    return PicturesWhenRead(lambda i: _pixels(archive, pictures[i], schema), np.asarray(labels, dtype=np.int64), schema)


def _pictures(archive: zipfile.ZipFile, *, has_targets: bool) -> list[Picture]:
    """In the order of names, held-out ones last. Raises BadInputError when there are none, or, with targets, when the
    folders are no classes."""
    members = [
        PurePosixPath(name)
        for name in archive.namelist()
        if PurePosixPath(name).suffix.lower() in SUFFIXES
        and not any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)
    ]
    if not members:
        hint = " For a script that reads the files by itself, give the format files."
        others = sorted({PurePosixPath(name).suffix.lower()[:20] for name in archive.namelist()} - {""})
        message = f"There are no images in the archive: {KINDS} are read."
        if others:
            message = f"There are no images in the archive: {KINDS} are read, and not {', '.join(others[:5])}."
        raise BadInputError(message, field="file", remedy=LAYOUT + hint)
    found = []
    for member in members:
        parts = member.parts[:-1]
        if not parts and has_targets:
            hint = " To predict on them only, say targets=none."
            raise BadInputError(f"{member} is in no folder, so it has no class.", field="file", remedy=LAYOUT + hint)
        is_held_out = any(part.lower() in HELD_OUT for part in parts[:-1])
        found.append(Picture(str(member), parts[-1] if parts else "", is_held_out))
    found.sort(key=lambda p: (p.is_held_out, p.member))
    if not has_targets:
        return found
    check_labels(
        {p.label for p in found if not p.is_held_out}, {p.label for p in found if p.is_held_out}, layout=LAYOUT
    )
    return found


def _read(archive: zipfile.ZipFile, picture: Picture) -> bytes:
    try:
        return archive.read(picture.member)
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise BadInputError(
            f"{picture.member} cannot be read as an image: {error}.", field="file", remedy="Repair or remove it."
        ) from error


def _pixels(archive: zipfile.ZipFile, picture: Picture, schema: Mapping[str, Any]) -> Array:
    return pixels(_read(archive, picture), picture.member, schema["input_shape"])
