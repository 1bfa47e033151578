# SPDX-License-Identifier: Apache-2.0
"""What people see of a dataset of clips: how many, how long, how loud, and some to listen to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlhub.runtime.data.readers.audio.clips import Clip, ClipArchive
from mlhub.runtime.data.readers.audio.decoding import ClipFacts, window

N_PREVIEW = 12
MAX_PREVIEW_BYTES = 8 * 2**20  # of a clip that pages play
N_BARS = 80  # of a waveform
MAX_PICTURE_S = 60.0
N_BINS = 20
N_CLASSES = 200
SILENT = 1e-4  # the largest value of a clip that is heard as silence: -80 dB


def statistics_of(clips: Sequence[Clip], facts: Sequence[ClipFacts], *, clip_s: float) -> dict[str, Any]:
    """facts: of each clip. clip_s: the length that all get."""
    durations = np.asarray([each.duration_s for each in facts])
    seconds, number = defaultdict[str, float](float), Counter[str]()
    for clip, each in zip(clips, facts, strict=True):
        seconds[clip.label] += each.duration_s
        number[clip.label] += 1
    return {
        "kind": "audio",
        "n_clips": len(clips),
        "total_s": round(float(durations.sum()), 3),
        "duration": {
            "min_s": round(float(durations.min()), 4),
            "median_s": round(float(np.median(durations)), 4),
            "max_s": round(float(durations.max()), 4),
            "histogram": _histogram(durations),
        },
        "sample_rates": _counted([each.sample_rate for each in facts]),
        "channels": _counted([each.channels for each in facts]),
        "formats": _counted([each.format for each in facts]),
        "classes": [
            {"name": name, "n": n, "total_s": round(seconds[name], 3)} for name, n in number.most_common(N_CLASSES)
        ],
        "n_cut": int((durations > clip_s * 1.001).sum()),
        "n_padded": int((durations < clip_s * 0.999).sum()),
        "n_silent": sum(each.peak < SILENT for each in facts),
    }


def preview_of(archive: ClipArchive, facts: Sequence[ClipFacts], *, sample_rate: int) -> dict[str, Any]:
    """Some clips of every part of the dataset, with what their waveforms look like."""
    chosen = np.unique(np.linspace(0, len(facts) - 1, min(N_PREVIEW, len(facts))).astype(int))
    return {"kind": "audio", "clips": [_shown(archive, int(i), facts[i], sample_rate) for i in chosen]}


def _shown(archive: ClipArchive, i: int, facts: ClipFacts, sample_rate: int) -> dict[str, Any]:
    clip = archive.clips[i]
    return {
        **archive.described(clip),
        "label": clip.label,
        "duration_s": round(facts.duration_s, 4),
        "sample_rate": facts.sample_rate,
        "channels": facts.channels,
        "is_playable": clip.size_bytes <= MAX_PREVIEW_BYTES,
        "waveform": _waveform(archive.read(clip), clip.name, facts, sample_rate),
    }


def _waveform(raw: bytes, name: str, facts: ClipFacts, sample_rate: int) -> list[float]:
    """The largest absolute value of each of N_BARS parts of the clip, from 0 to 1."""
    length = max(N_BARS, round(min(MAX_PICTURE_S, facts.duration_s) * sample_rate))
    signal = window(raw, name, sample_rate=sample_rate, length=length)
    return [round(min(1.0, float(np.abs(part).max())), 3) for part in np.array_split(signal, N_BARS)]


def _histogram(durations: NDArray[np.float64]) -> dict[str, Any] | None:
    """None where all clips have one length."""
    if durations.min() == durations.max():
        return None
    counts, edges = np.histogram(durations, bins=N_BINS)
    return {"edges": [round(float(edge), 4) for edge in edges], "counts": counts.tolist()}


def _counted(values: Sequence[int | str]) -> list[dict[str, Any]]:
    return [{"value": value, "n": n} for value, n in Counter(values).most_common(20)]
