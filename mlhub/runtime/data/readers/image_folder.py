# SPDX-License-Identifier: Apache-2.0
"""A zip of images, one folder a class: class/picture.png, also below one common folder, or below train/ and test/.

Small ones are decoded once. With the option image_size they have that size, and are decoded whenever they are read.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from mlhub.runtime.data.archives import open_archive
from mlhub.runtime.data.moments import Moments, training_mask
from mlhub.runtime.data.readers.examples import Array, Examples, InspectionResult, as_tensor, no_targets, wants_targets
from mlhub.runtime.data.readers.previews import png
from mlhub.runtime.data.sampling import Indices
from mlhub.runtime.errors import BadInputError

if TYPE_CHECKING:
    from torch import Tensor

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"}
TRAIN, HELD_OUT = {"train", "training"}, {"test", "val", "valid", "validation"}
MAX_SIDE = 128  # unless image_size says otherwise
MAX_IMAGE_SIZE = 1024
MAX_DECODERS = 4  # threads; each holds one picture at its own size
WHEN_READ = "when_read"
MAX_MEMORY_BYTES = 2 * 2**30
N_PREVIEW = 20
N_AT_ONCE = 64
N_FOR_MOMENTS = 2000
LAYOUT = "Pack one folder a class: cats/1.png, dogs/1.png; or train/cats/1.png and test/cats/1.png."

Image.MAX_IMAGE_PIXELS = 64_000_000


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
            sizes: Counter[tuple[int, int]] = Counter()
            channels = 1
            for picture in pictures:
                image = _decode(archive, picture)
                sizes[image.size] += 1
                channels = max(channels, 1 if image.mode in ("L", "1", "I;16") else 3)
            width, height = _target_size(sizes, options)
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
                "n_sizes": len(sizes),
                **({"decoding": WHEN_READ} if is_decoded_when_read else {}),
                **(_classes(labels) if has_targets else {"task": "none"}),
            }
            schema |= self._moments(archive, pictures, schema) if has_targets else {}
            chosen = np.linspace(0, len(pictures) - 1, min(N_PREVIEW, len(pictures))).astype(int)
            shown = [pictures[i] for i in chosen]
            images = [
                {"label": p.label, "png_base64": png(np.moveaxis(_pixels(archive, p, schema), 0, -1) / 255.0)}
                for p in shown
            ]
        return InspectionResult(schema, {"kind": "images", "images": images})

    def _moments(self, archive: zipfile.ZipFile, pictures: list[Picture], schema: dict[str, Any]) -> dict[str, Any]:
        """Moments of each channel over a sample of the training pictures."""
        own = np.flatnonzero(training_mask(len(pictures), n_held_out=schema["n_held_out"]))
        some = own[np.linspace(0, len(own) - 1, min(N_FOR_MOMENTS, len(own))).astype(int)]
        moments = Moments(schema["input_shape"], np.ones(len(some), dtype=bool))
        for i in some:
            moments.add(_pixels(archive, pictures[i], schema)[None])
        return moments.facts(scale=self.scale(schema))

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        if schema.get("decoding") == WHEN_READ:
            return ImagesOfArchive(path, schema, scale=self.scale(schema))
        inputs, targets = zip(*self.parts(path, schema), strict=True)
        return Examples(np.concatenate(inputs), np.concatenate(targets), scale=self.scale(schema))

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        has_targets = schema.get("has_targets", True)
        number = {label: i for i, label in enumerate(schema["classes"])}
        with open_archive(path) as archive:
            pictures = _pictures(archive, has_targets=has_targets)
            for start in range(0, len(pictures), N_AT_ONCE):
                some = pictures[start : start + N_AT_ONCE]
                pixels = np.stack([_pixels(archive, picture, schema) for picture in some])
                labels = [number[picture.label] for picture in some] if has_targets else no_targets(len(some))
                yield pixels, np.asarray(labels, dtype=np.int64)

    def names(self, path: Path) -> list[str]:
        """Of the pictures in the archive, in the order of the examples."""
        with open_archive(path) as archive:
            return [picture.member for picture in _pictures(archive, has_targets=False)]

    def scale(self, schema: Mapping[str, Any]) -> float:  # noqa: ARG002 (the protocol's signature)
        return 255.0


class ImagesOfArchive(Examples):
    """Pictures that stay packed: a batch decodes its own, several at a time, and nothing is kept of it afterwards."""

    def __init__(self, path: Path, schema: Mapping[str, Any], *, scale: float) -> None:
        has_targets = schema.get("has_targets", True)
        self._archive = open_archive(path)
        self._pictures = _pictures(self._archive, has_targets=has_targets)
        number = {label: i for i, label in enumerate(schema["classes"])} if has_targets else {}
        labels = [number[picture.label] for picture in self._pictures] if has_targets else no_targets(len(self))
        self._targets, self._scale, self._schema = np.asarray(labels, dtype=np.int64), scale, schema
        n_threads = min(MAX_DECODERS, len(os.sched_getaffinity(0)))
        self._decoders = ThreadPoolExecutor(n_threads, thread_name_prefix="decode")

    def __len__(self) -> int:
        return len(self._pictures)

    def batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        channels, height, width = self._schema["input_shape"]
        pixels = np.empty((len(indices), channels, height, width), dtype=np.uint8)
        for place, found in enumerate(self._decoders.map(self._pixels_of, indices)):
            pixels[place] = found
        return as_tensor(pixels, self._scale), as_tensor(self._targets[indices])

    def _pixels_of(self, index: int) -> Array:
        return _pixels(self._archive, self._pictures[index], self._schema)


READER = ImageFolderReader()


def _classes(labels: Mapping[str, int]) -> dict[str, Any]:
    return {
        "task": "classification",
        "n_classes": len(labels),
        "classes": sorted(labels),
        "class_counts": [labels[c] for c in sorted(labels)],
    }


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
        raise BadInputError("There are no images in the archive.", field="file", remedy=LAYOUT)
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
    if len({p.label for p in found}) < 2:
        raise BadInputError(f"All images are of one class, {found[0].label}.", field="file", remedy=LAYOUT)
    unknown = {p.label for p in found if p.is_held_out} - {p.label for p in found if not p.is_held_out}
    if unknown:
        raise BadInputError(
            f"The class {min(unknown)} has no images to train on.", field="file", remedy="Add some, or remove it."
        )
    return found


def _decode(archive: zipfile.ZipFile, picture: Picture) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(archive.read(picture.member)))
        image.load()
    except (UnidentifiedImageError, OSError, zipfile.BadZipFile, Image.DecompressionBombError, ValueError) as error:
        raise BadInputError(
            f"{picture.member} cannot be read as an image: {error}.", field="file", remedy="Repair or remove it."
        ) from error
    return image


def _pixels(archive: zipfile.ZipFile, picture: Picture, schema: Mapping[str, Any]) -> Array:
    channels, height, width = schema["input_shape"]
    image = _decode(archive, picture).convert("L" if channels == 1 else "RGB")
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(image, dtype=np.uint8)
    return pixels[None] if channels == 1 else np.moveaxis(pixels, -1, 0)


def _target_size(sizes: Counter[tuple[int, int]], options: Mapping[str, Any]) -> tuple[int, int]:
    """Width and height: the option's, the pictures' own when all are equal and small, else a square."""
    size = options.get("image_size")
    if size is not None:
        if isinstance(size, bool) or not isinstance(size, int) or not 8 <= size <= MAX_IMAGE_SIZE:
            raise BadInputError(
                f"image_size is {size!r}.",
                field="image_size",
                remedy=f"Give pixels a side, from 8 to {MAX_IMAGE_SIZE:,}.",
            )
        return size, size
    (width, height), _ = sizes.most_common(1)[0]
    if len(sizes) == 1 and max(width, height) <= MAX_SIDE:
        return width, height
    side = min(MAX_SIDE, max(8, int(np.median([min(size) for size in sizes.elements()]))))
    return side, side
