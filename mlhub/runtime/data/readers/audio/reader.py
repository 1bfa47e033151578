# SPDX-License-Identifier: Apache-2.0
"""Audio in folders, one folder a class: class/clip.wav, also below one common folder, or below train/ and test/; and in
shards, each clip next to its class.

A clip becomes one channel at the dataset's rate and of its length, and is decoded whenever it is read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlhub.runtime.data.archives import MAX_EXPANDED_BYTES
from mlhub.runtime.data.readers.audio.clips import LAYOUT, MAX_FILE_BYTES, Clip, ClipArchive, numbers_of
from mlhub.runtime.data.readers.audio.decoding import SAMPLE_BYTES, ClipFacts, UnusableClipError, checked, window
from mlhub.runtime.data.readers.audio.options import choose
from mlhub.runtime.data.readers.audio.statistics import preview_of, statistics_of
from mlhub.runtime.data.readers.examples import (
    Array,
    Examples,
    InspectionResult,
    LongExamples,
    as_tensor,
    no_targets,
    wants_targets,
)
from mlhub.runtime.data.readers.pictures import WHEN_READ, check_labels, described_classes
from mlhub.runtime.data.sampling import Indices
from mlhub.runtime.errors import BadInputError

if TYPE_CHECKING:
    from torch import Tensor

MAX_DECODERS = 4  # threads
N_NAMED = 20  # faults that a refusal lists


class AudioExamples(LongExamples):
    """Clips that stay packed: a batch decodes its own, several at a time."""

    def __init__(self, archive: ClipArchive, targets: Array, schema: Mapping[str, Any]) -> None:
        """targets: (n,), int64, in the order of the archive's clips."""
        self._archive, self._targets = archive, targets
        self._rate, self._length = int(schema["sample_rate"]), int(schema["input_shape"][-1])
        n_threads = min(MAX_DECODERS, len(os.sched_getaffinity(0)))
        self._decoders = ThreadPoolExecutor(n_threads, thread_name_prefix="decode")

    def __len__(self) -> int:
        return len(self._targets)

    def batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        return self.parts(indices, np.full(len(indices), 0.5))

    def parts(self, indices: Indices, places: Array) -> tuple[Tensor, Tensor]:
        found = np.empty((len(indices), 1, self._length), dtype=np.float32)
        for row, signal in enumerate(self._decoders.map(self._part, indices, places)):
            found[row, 0] = signal
        return as_tensor(found), as_tensor(self._targets[indices])

    def _part(self, i: int, place: float) -> Array:
        clip = self._archive.clips[i]
        raw = self._archive.read(clip)
        return window(raw, clip.name, sample_rate=self._rate, length=self._length, place=place)


class AudioFolderReader:
    """Options: target (the field of the JSON next to a clip), sample_rate (Hz), clip_s (seconds), targets."""

    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        has_targets, field = wants_targets(options), options.get("target")
        archive = ClipArchive(path, field=field, has_targets=has_targets)
        clips = archive.clips
        facts = _checked(archive, has_targets=has_targets)
        labels = Counter(clip.label for clip in clips)
        if has_targets:
            trained, held_out = ({c.label for c in clips if c.is_held_out is part} for part in (False, True))
            check_labels(trained, held_out, layout=LAYOUT, examples="clips")
        rate, length = choose(options, facts)
        schema = {
            "n_examples": len(clips),
            "n_held_out": sum(clip.is_held_out for clip in clips),
            "input_shape": [1, length],
            "sample_rate": rate,
            "decoding": WHEN_READ,
            **({"target": field} if field and has_targets else {}),
            **(described_classes(labels, list(numbers_of(labels))) if has_targets else {"task": "none"}),
        }
        statistics = statistics_of(clips, facts, clip_s=length / rate)
        return InspectionResult(schema, preview_of(archive, facts, sample_rate=rate), statistics)

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        has_targets = schema.get("has_targets", True) and schema.get("task") != "none"
        archive = ClipArchive(path, field=schema.get("target"), has_targets=has_targets)
        if not has_targets:
            return AudioExamples(archive, no_targets(len(archive.clips)), schema)
        number = {label: i for i, label in enumerate(schema["classes"])}
        targets = np.asarray([number[clip.label] for clip in archive.clips], dtype=np.int64)
        return AudioExamples(archive, targets, schema)

    def names(self, path: Path) -> list[str]:
        """Of the clips in the archive, in the order of the examples."""
        return [clip.name for clip in ClipArchive(path, has_targets=False).clips]


READER = AudioFolderReader()


def _checked(archive: ClipArchive, *, has_targets: bool) -> list[ClipFacts]:
    """Decodes every clip. Raises BadInputError with all that cannot be used."""
    found, faults, n_bytes = list[ClipFacts](), list[str](), 0
    for clip in archive.clips:
        if has_targets and not clip.label:
            faults.append(f"{clip.name} is in no folder, and has no .cls or .json next to it, so it has no class")
            continue
        try:
            facts = _facts(archive, clip)
        except UnusableClipError as error:
            faults.append(f"{clip.name} {error}")
            continue
        found.append(facts)
        n_bytes += facts.n_samples * SAMPLE_BYTES
        if n_bytes > MAX_EXPANDED_BYTES:
            raise BadInputError(
                f"The clips would unpack to more than {MAX_EXPANDED_BYTES:,} bytes.",
                field="file",
                remedy="Upload fewer clips, with one channel or at a lower sample rate.",
                code="archive_bomb",
            )
    if faults:
        raise _refusal(faults, len(archive.clips), has_targets=has_targets)
    return found


def _facts(archive: ClipArchive, clip: Clip) -> ClipFacts:
    if clip.size_bytes > MAX_FILE_BYTES:
        raise UnusableClipError(f"has {clip.size_bytes:,} bytes; at most {MAX_FILE_BYTES:,} are read")
    return checked(archive.read(clip))


def _refusal(faults: Sequence[str], n_clips: int, *, has_targets: bool) -> BadInputError:
    shown = "; ".join(faults[:N_NAMED]) + (f"; and {len(faults) - N_NAMED:,} more" if len(faults) > N_NAMED else "")
    without = " To predict on clips without folders, say targets=none." if has_targets else ""
    return BadInputError(
        f"{len(faults):,} of {n_clips:,} clips cannot be used: {shown}.",
        field="file",
        remedy=f"Repair, convert or remove them. {LAYOUT}{without}",
        code="unusable_clips",
    )
