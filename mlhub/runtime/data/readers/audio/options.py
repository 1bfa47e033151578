# SPDX-License-Identifier: Apache-2.0
"""The rate and the length that all clips of a dataset get: as asked for, or what suits most of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlhub.runtime.data.readers.audio.decoding import ClipFacts
from mlhub.runtime.errors import BadInputError

MIN_SAMPLE_RATE, MAX_SAMPLE_RATE = 1_000, 48_000
MIN_CLIP_S, MAX_CLIP_S = 0.05, 60.0
USUAL_SAMPLE_RATE, USUAL_CLIP_S = 16_000, 10.0  # at most, unless another is asked for
COVERED = 95  # per cent of the clips that are no longer than the usual length


def choose(options: Mapping[str, Any], facts: Sequence[ClipFacts]) -> tuple[int, int]:
    """Hertz, and samples of a clip. Raises BadInputError for a value out of range."""
    commonest = Counter(clip.sample_rate for clip in facts).most_common(1)[0][0]
    rate = int(
        _within(options, "sample_rate", MIN_SAMPLE_RATE, MAX_SAMPLE_RATE, "Hz") or min(USUAL_SAMPLE_RATE, commonest)
    )
    longest = float(np.percentile([clip.duration_s for clip in facts], COVERED, method="higher"))
    usual_s = min(USUAL_CLIP_S, max(MIN_CLIP_S, longest))
    seconds = _within(options, "clip_s", MIN_CLIP_S, MAX_CLIP_S, "seconds") or usual_s
    return rate, max(1, round(seconds * rate))


def _within(options: Mapping[str, Any], name: str, least: float, most: float, unit: str) -> float | None:
    value = options.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise BadInputError(f"{name} is {value!r}.", field=name, remedy=f"Give {unit}, from {least:,} to {most:,}.")
    return value
