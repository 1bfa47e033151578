# SPDX-License-Identifier: Apache-2.0
"""Signals of one channel at one rate and of one length, by NumPy alone. Exports carry this module as well."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

CROSSINGS = 8  # of the sinc on each side of its centre
ROLL_OFF = 0.95  # of the lower Nyquist frequency, from which on the filter lets less through
VALUES_AT_ONCE = 2**20
Signal = NDArray[np.float32]


def mixed(frames: NDArray[Any]) -> Signal:
    """The mean of the channels. frames: float32, shape (n, channels)."""
    found: Signal = frames.mean(1, dtype=np.float32) if frames.shape[1] > 1 else np.ascontiguousarray(frames[:, 0])
    return found


def part(
    read: Callable[[int, int], Signal], n_frames: int, rate: int, *, sample_rate: int, length: int, place: float = 0.5
) -> Signal:
    """float32, shape (length,), at sample_rate: a part of a clip of n_frames at its own rate.

    read(start, n): gives samples of one channel. place: where the part of a longer clip lies: 0 at its begin, 0.5 in
    its middle, below 1. A shorter clip is followed by silence.
    """
    n = math.ceil(length * rate / sample_rate)
    start = int(max(0, n_frames - n + 1) * place)
    return _fitted(resampled(read(start, n), rate, sample_rate), length)


def resampled(signal: Signal, rate: int, new_rate: int) -> Signal:
    """The signal at another rate, by a sinc filter with a Hann window.

    Source: J. O. Smith, Digital Audio Resampling (band-limited interpolation).
    """
    if rate == new_rate or not len(signal):
        return signal
    common = math.gcd(rate, new_rate)
    step, n_phases = rate // common, new_rate // common
    cut = ROLL_OFF * min(1.0, new_rate / rate)
    reach = math.ceil(CROSSINGS / cut)
    taps = np.arange(-reach, reach + 1)
    # the filter depends on how far an output lies behind the input before it: there are n_phases such distances
    distance = (np.arange(n_phases) * step % n_phases / n_phases)[:, None] - taps[None]
    window = np.where(np.abs(distance) < reach, np.cos(np.pi * distance / reach / 2) ** 2, 0.0)
    weights = (cut * np.sinc(cut * distance) * window).astype(np.float32)
    padded = np.pad(signal, reach)
    n = math.ceil(len(signal) * n_phases / step)
    out = np.empty(n, dtype=np.float32)
    at_once = max(1, VALUES_AT_ONCE // len(taps))
    for start in range(0, n, at_once):
        places = np.arange(start, min(n, start + at_once))
        before = places * step // n_phases
        seen = padded[before[:, None] + (taps + reach)[None]]
        out[places] = np.einsum("nt,nt->n", seen, weights[places % n_phases])
    return out


def _fitted(signal: Signal, length: int) -> Signal:
    """The middle of a longer signal; a shorter one with silence after it."""
    if len(signal) >= length:
        start = (len(signal) - length) // 2
        return signal[start : start + length]
    return np.pad(signal, (0, length - len(signal)))
