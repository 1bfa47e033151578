# SPDX-License-Identifier: Apache-2.0
"""Signals of one channel at one rate and of one length, by NumPy alone. Exports carry this module as well."""

from __future__ import annotations

import math
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


def n_needed(length: int, rate: int, new_rate: int) -> int:
    """How many samples at a rate become as many at another one."""
    return math.ceil(length * rate / new_rate)


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


def fitted(signal: Signal, length: int) -> Signal:
    """The middle of a longer signal; a shorter one with silence after it."""
    if len(signal) >= length:
        start = (len(signal) - length) // 2
        return signal[start : start + length]
    return np.pad(signal, (0, length - len(signal)))
