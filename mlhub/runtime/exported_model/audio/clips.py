# SPDX-License-Identifier: Apache-2.0
"""Files of audio as tensors, by soundfile where it is installed, else WAV by Python's own module."""

from __future__ import annotations

import io
import wave
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import UnusableRowError
from ..images import bytes_of
from .signal import Signal, mixed, part

SUFFIXES = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3")
EXACT_SEEK = ("WAV", "WAVEX", "RF64", "FLAC")
MIN_RATE, MAX_RATE, MAX_CHANNELS = 1_000, 384_000, 16
SAMPLE_BYTES = (1, 2, 3, 4)  # of WAV files with whole numbers


def encoded_clip(number: int, audio: Any, shape: Sequence[int], sample_rate: int) -> Tensor:
    """float32 of the shape (1, samples): the middle of a longer clip, a shorter one with silence after it.

    audio: the bytes of a file, or these in base64, also as a data: address. Raises UnusableRowError.
    """
    try:
        raw = audio if isinstance(audio, bytes) else bytes_of(audio)
        signal = _decoded(raw, length=shape[-1], sample_rate=sample_rate)
    except (ValueError, EOFError, RuntimeError, OSError, TypeError, wave.Error) as error:
        reason = str(getattr(error, "error_string", error)).rstrip(".") or "it ends too early"
        raise UnusableRowError(
            f"Row {number} cannot be read as audio: {reason}.",
            field="audio",
            remedy="Give a WAV file, in JSON its bytes in base64; other formats where soundfile is installed.",
        ) from error
    return torch.from_numpy(np.ascontiguousarray(signal))[None]


def _decoded(raw: bytes, *, length: int, sample_rate: int) -> Signal:
    try:
        import soundfile
    except ImportError:
        return _by_wave(raw, length=length, sample_rate=sample_rate)
    with soundfile.SoundFile(io.BytesIO(raw)) as file:
        _check(file.frames, file.samplerate, file.channels)

        def read(start: int, n: int) -> Signal:
            skipped = 0 if file.format in EXACT_SEEK else start
            file.seek(start - skipped)
            frames = file.read(skipped + n, dtype="float32", always_2d=True)
            return mixed(frames[skipped:])

        return part(read, file.frames, file.samplerate, sample_rate=sample_rate, length=length)


def _by_wave(content: bytes, *, length: int, sample_rate: int) -> Signal:
    with wave.open(io.BytesIO(content)) as file:
        n_channels, n_bytes = file.getnchannels(), file.getsampwidth()
        _check(file.getnframes(), file.getframerate(), n_channels)
        if n_bytes not in SAMPLE_BYTES:
            raise ValueError(f"its samples have {n_bytes} bytes")

        def read(start: int, n: int) -> Signal:
            file.setpos(start)
            raw = file.readframes(n)
            if not raw:
                raise ValueError("it ends before its samples")
            return mixed(_floats(raw, n_bytes).reshape(-1, n_channels))

        return part(read, file.getnframes(), file.getframerate(), sample_rate=sample_rate, length=length)


def _floats(raw: bytes, n_bytes: int) -> Signal:
    """Whole numbers of n_bytes each, least significant byte first, as -1 to 1; those of one byte have no sign."""
    if n_bytes == 1:
        return (np.frombuffer(raw, np.uint8).astype(np.float32) - np.float32(128)) / np.float32(128)
    padded = np.zeros((len(raw) // n_bytes, 4), np.uint8)
    padded[:, 4 - n_bytes :] = np.frombuffer(raw, np.uint8).reshape(-1, n_bytes)
    return padded.view("<i4")[:, 0].astype(np.float32) / np.float32(2**31)


def _check(n_frames: int, rate: int, n_channels: int) -> None:
    """Raises ValueError for what no recording has."""
    if n_frames <= 0:
        raise ValueError("it has no samples")
    if not MIN_RATE <= rate <= MAX_RATE or n_channels > MAX_CHANNELS:
        raise ValueError(f"it has a sample rate of {rate:,} Hz and {n_channels} channels")
