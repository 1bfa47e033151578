# SPDX-License-Identifier: Apache-2.0
"""Tiny clips of two classes, a tone and noise, as files of audio and as archives of them."""

from __future__ import annotations

import io

import numpy as np
import soundfile

from tests.datasets.files import tarred, zipped

RATE, SECONDS = 8_000, 0.2


def signal(i: int, *, rate: int = RATE, seconds: float = SECONDS) -> np.ndarray:
    """Odd numbers are noise, even ones a tone; float32, shape (samples,)."""
    n = round(rate * seconds)
    if i % 2:
        return (0.2 * np.random.default_rng(i).standard_normal(n)).clip(-1, 1).astype(np.float32)
    return (0.5 * np.sin(2 * np.pi * (400 + 20 * (i % 10)) * np.arange(n) / rate)).astype(np.float32)


def encoded(samples: np.ndarray, *, rate: int = RATE, format: str = "WAV", subtype: str | None = None) -> bytes:
    """samples: shape (samples,) or (samples, channels)."""
    out = io.BytesIO()
    soundfile.write(out, samples, rate, format=format, subtype=subtype)
    return out.getvalue()


def clip(i: int, *, rate: int = RATE, seconds: float = SECONDS, format: str = "WAV") -> bytes:
    return encoded(signal(i, rate=rate, seconds=seconds), rate=rate, format=format)


def clips(n: int = 12, *, rate: int = RATE, seconds: float = SECONDS) -> dict[str, bytes]:
    return {f"sounds/{('tone', 'noise')[i % 2]}/{i:03}.wav": clip(i, rate=rate, seconds=seconds) for i in range(n)}


def zip_of_clips(n: int = 12) -> bytes:
    return zipped(clips(n))


def shard_of_clips(n: int = 12) -> bytes:
    """Each with its class beside it."""
    members: dict[str, bytes] = {}
    for i in range(n):
        members |= {f"{i:03}.wav": clip(i), f"{i:03}.cls": (b"tone", b"noise")[i % 2]}
    return tarred(members)


def tar_of_clips(n: int = 12) -> bytes:
    return tarred(clips(n))
