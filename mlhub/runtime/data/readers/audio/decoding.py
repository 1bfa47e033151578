# SPDX-License-Identifier: Apache-2.0
"""Files of audio as samples, by libsndfile, in pieces: what a header promises is never allocated at once."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import soundfile

from mlhub.runtime.data.archives import MAX_RATIO, RATIO_APPLIES_FROM_BYTES
from mlhub.runtime.data.readers.audio.signal import Signal, mixed, part
from mlhub.runtime.errors import BadInputError

FORMATS = ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "MP3")  # of libsndfile, which would also guess others
EXACT_SEEK = ("WAV", "WAVEX", "RF64", "FLAC")
MIN_RATE, MAX_RATE = 1_000, 384_000
MAX_CHANNELS = 16
MAX_CLIP_S = 3600
PIECE_FRAMES = 2**16
SAMPLE_BYTES = 2  # of a usual recording, unpacked


class UnusableClipError(ValueError):
    """A clip that cannot be trained on; the message goes on from its name: "a/1.wav is no audio"."""


@dataclass(frozen=True)
class ClipFacts:
    """What a whole clip turned out to be. peak: the largest absolute value. n_samples: of all channels."""

    n_frames: int
    sample_rate: int
    channels: int
    format: str
    peak: float

    @property
    def duration_s(self) -> float:
        return self.n_frames / self.sample_rate

    @property
    def n_samples(self) -> int:
        return self.n_frames * self.channels


def checked(raw: bytes) -> ClipFacts:
    """Decodes all of a clip and says what it is. Raises UnusableClipError."""
    with _opened(raw) as file:
        _check_header(file, len(raw))
        n_frames, peak = 0, 0.0
        for frames in _pieces(file, MAX_CLIP_S * file.samplerate + 1):
            if not np.isfinite(frames).all():
                raise UnusableClipError("has values that are no numbers")
            n_frames += len(frames)
            peak = max(peak, float(np.abs(frames).max()))
        if not n_frames:
            raise UnusableClipError("has no samples")
        if n_frames < file.frames and file.format in EXACT_SEEK:
            raise UnusableClipError(f"is cut off: it ends after {n_frames:,} of {file.frames:,} samples")
        return ClipFacts(n_frames, file.samplerate, file.channels, file.format, peak)


def window(raw: bytes, name: str, *, sample_rate: int, length: int, place: float = 0.5) -> Signal:
    """float32, shape (length,): a part of the clip, in one channel, at the rate.

    place: where a part of a longer clip lies: 0 at its begin, 0.5 in its middle, below 1. Raises BadInputError.
    """
    try:
        with _opened(raw) as file:
            _check_header(file, len(raw))

            def read(start: int, n: int) -> Signal:
                skipped = 0 if file.format in EXACT_SEEK else start
                file.seek(start - skipped)
                pieces = [mixed(frames) for frames in _pieces(file, skipped + n)]
                return np.concatenate(pieces)[skipped:] if pieces else np.zeros(0, np.float32)

            return part(read, file.frames, file.samplerate, sample_rate=sample_rate, length=length, place=place)
    except UnusableClipError as error:
        raise BadInputError(f"{name} {error}.", field="file", remedy="Repair or remove it.") from error


def _pieces(file: soundfile.SoundFile, n_frames: int) -> Iterator[np.ndarray]:
    """float32 of shape (frames, channels), until the end or n_frames. Raises UnusableClipError."""
    while n_frames > 0:
        try:
            frames = file.read(min(PIECE_FRAMES, n_frames), dtype="float32", always_2d=True)
        except (soundfile.SoundFileError, RuntimeError, ValueError) as error:
            raise UnusableClipError(f"is damaged: {_reason(error)}") from error
        if not len(frames):
            return
        n_frames -= len(frames)
        yield frames


def _opened(raw: bytes) -> soundfile.SoundFile:
    try:
        file = soundfile.SoundFile(io.BytesIO(raw))
    except (soundfile.SoundFileError, RuntimeError, TypeError, ValueError) as error:
        what = "is empty" if not raw else f"is no audio that can be read: {_reason(error)}"
        raise UnusableClipError(what) from error
    if file.format not in FORMATS:
        file.close()
        raise UnusableClipError(f"is {file.format}, which is not read")
    return file


def _check_header(file: soundfile.SoundFile, n_bytes: int) -> None:
    """Raises UnusableClipError for what no recording has, before anything is decoded."""
    if not MIN_RATE <= file.samplerate <= MAX_RATE:
        raise UnusableClipError(f"has a sample rate of {file.samplerate:,} Hz, not {MIN_RATE:,} to {MAX_RATE:,}")
    if file.channels > MAX_CHANNELS:
        raise UnusableClipError(f"has {file.channels:,} channels; at most {MAX_CHANNELS} are read")
    if file.frames <= 0:
        raise UnusableClipError("has no samples")
    if file.frames > MAX_CLIP_S * file.samplerate:
        hours = file.frames / file.samplerate / 3600
        raise UnusableClipError(f"lasts {hours:,.1f} hours by its header; a clip lasts at most one")
    expanded = file.frames * file.channels * SAMPLE_BYTES
    if expanded > RATIO_APPLIES_FROM_BYTES and expanded > MAX_RATIO * n_bytes:
        raise UnusableClipError(f"of {n_bytes:,} bytes would unpack to {expanded:,} bytes")


def _reason(error: Exception) -> str:
    """libsndfile's own words, without its repetition of how the file was opened."""
    return str(getattr(error, "error_string", error)).removeprefix("Error : ").strip().rstrip(".")
