# SPDX-License-Identifier: Apache-2.0
"""Shards of the WebDataset layout: tar files in which the files of one key, such as 000.jpg and 000.cls, are a sample.

Pictures stay in the tar and are decoded whenever they are read. Samples are read by their place, not in a stream, so
that each comes once an epoch in the order of the schedule, for any number of workers and after any restart.
Source: Aizman, Maltby, Breuel, "High Performance I/O For Large Scale Deep Learning", 2019 (the layout).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from mlhub.runtime.data.readers.examples import Array, Examples, InspectionResult, no_targets, wants_targets
from mlhub.runtime.data.readers.pictures import (
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
from mlhub.runtime.data.readers.shard_labels import is_held_out, label_of
from mlhub.runtime.data.readers.tars import TarMember, TarShards
from mlhub.runtime.errors import BadInputError
from mlhub.wire.formats import AUDIO_SUFFIXES

LAYOUT = "Give each sample a picture and a class of the same name: 000.jpg and 000.cls, or 000.json with a field."


@dataclass(frozen=True)
class Sample:
    """name: the shard and the key. label: "" where targets are not read."""

    name: str
    picture: TarMember
    label: str
    is_held_out: bool


class WebDatasetReader:
    """Options: target (the field of the JSON that names the class), targets, image_size."""

    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        has_targets, field = wants_targets(options), options.get("target")
        shards = TarShards(path)
        samples = _samples(shards, field=field, has_targets=has_targets)
        raw = ((shards.read(sample.picture), sample.name) for sample in samples)
        (width, height), channels, n_sizes = size_of_all(raw, options)
        labels = Counter(sample.label for sample in samples)
        schema = {
            "n_examples": len(samples),
            "n_held_out": sum(sample.is_held_out for sample in samples),
            "input_shape": [channels, height, width],
            "n_sizes": n_sizes,
            "decoding": WHEN_READ,
            **({"target": field} if field else {}),
            **(described_classes(labels, _in_order(labels)) if has_targets else {"task": "none"}),
        }

        def pixels_at(i: int) -> Array:
            return _pixels(shards, samples[i], schema)

        schema |= moments_of(pixels_at, schema) if has_targets else {}
        return InspectionResult(schema, preview_of(pixels_at, [sample.label for sample in samples]))

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        has_targets = schema.get("has_targets", True)
        shards = TarShards(path)
        samples = _samples(shards, field=schema.get("target"), has_targets=has_targets)
        number = {label: i for i, label in enumerate(schema["classes"])} if has_targets else {}
        labels = [number[sample.label] for sample in samples] if has_targets else no_targets(len(samples))
        targets = np.asarray(labels, dtype=np.int64)
        return PicturesWhenRead(lambda i: _pixels(shards, samples[i], schema), targets, schema)

    def names(self, path: Path) -> list[str]:
        """The shards and keys of the samples, in the order of the examples."""
        return [sample.name for sample in _samples(TarShards(path), field=None, has_targets=False)]


READER = WebDatasetReader()


def _samples(shards: TarShards, *, field: str | None, has_targets: bool) -> list[Sample]:
    """In the order of the file, held-out ones last. Raises BadInputError for the first that is no whole sample."""
    found = []
    for shard, members in shards.shards():
        keys = set[str]()
        for key, files in _groups(members):
            name = f"{shard}/{key}" if shard else key
            if key in keys:
                raise _refusal(f"The key {name} comes twice, with other samples in between.")
            keys.add(key)
            label = label_of(shards, name, files, field=field, layout=LAYOUT) if has_targets else ""
            found.append(Sample(name, _picture(name, files), label, is_held_out(shard, key)))
    if not found:
        raise BadInputError("There are no samples in the shards.", field="file", remedy=LAYOUT)
    found.sort(key=lambda sample: sample.is_held_out)
    if has_targets:
        trained, held_out = ({s.label for s in found if s.is_held_out is part} for part in (False, True))
        check_labels(trained, held_out, layout=LAYOUT)
    return found


def _groups(members: Iterator[TarMember]) -> Iterator[tuple[str, dict[str, TarMember]]]:
    """The files of each key by their suffixes; those of one key follow one another."""
    key, files = "", dict[str, TarMember]()
    for member in members:
        path = PurePosixPath(member.name)
        if any(part.startswith((".", "__MACOSX")) for part in path.parts):
            continue
        stem, dot, suffix = path.name.partition(".")
        own, suffix = str(path.with_name(stem)), (dot + suffix).lower()
        if own != key and files:
            yield key, files
            files = {}
        key = own
        if suffix in files:
            raise _refusal(f"The sample {key} has two files that end in {suffix or 'no suffix'}.")
        files[suffix] = member
    if files:
        yield key, files


def _picture(name: str, files: Mapping[str, TarMember]) -> TarMember:
    pictures = [suffix for suffix in files if suffix in SUFFIXES]
    if len(pictures) != 1:
        is_of_audio = any(suffix.endswith(AUDIO_SUFFIXES) for suffix in files)
        hint = " Shards of audio are of the format audio_folder." if is_of_audio else ""
        raise _refusal(f"The sample {name} has {'two pictures' if pictures else 'no picture'}.", hint)
    return files[pictures[0]]


def _in_order(labels: Mapping[str, int]) -> list[str]:
    """Numbers in their order, and words in theirs."""
    are_numbers = all(label.isascii() and label.isdecimal() for label in labels)
    return sorted(labels, key=lambda label: (int(label) if are_numbers else 0, label))


def _pixels(shards: TarShards, sample: Sample, schema: Mapping[str, Any]) -> Array:
    return pixels(shards.read(sample.picture), sample.name, schema["input_shape"])


def _refusal(message: str, hint: str = "") -> BadInputError:
    return BadInputError(message, field="file", remedy=LAYOUT + hint)
