# SPDX-License-Identifier: Apache-2.0
"""Clips as rows of exports: WAV of any width is read by Python alone as libsndfile reads it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from mlhub.runtime.data.readers.audio.decoding import window
from mlhub.runtime.exported_model.audio.clips import encoded_clip
from mlhub.runtime.exported_model.errors import UnusableRowError
from tests.datasets.audio import clip, encoded, signal


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32"])
@pytest.mark.parametrize("seconds", [0.1, 0.7])
def test_wav_is_read_without_soundfile_as_with_it(
    subtype: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    stereo = np.stack([signal(1, rate=11_025, seconds=seconds), signal(2, rate=11_025, seconds=seconds)], 1)
    raw = encoded(stereo, rate=11_025, subtype=subtype)
    expected = window(raw, "1.wav", sample_rate=8_000, length=2_000)
    np.testing.assert_allclose(encoded_clip(0, raw, [1, 2_000], 8_000)[0].numpy(), expected, atol=1e-6)
    monkeypatch.setitem(sys.modules, "soundfile", None)
    np.testing.assert_allclose(encoded_clip(0, raw, [1, 2_000], 8_000)[0].numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("raw", [b"", b"RIFF", b"no audio", clip(0)[:44], clip(0, format="FLAC")])
def test_what_python_alone_cannot_read_names_its_row(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(UnusableRowError, match="Row 3 cannot be read as audio") as refused:
        encoded_clip(3, raw, [1, 800], 8_000)
    assert (refused.value.field, "soundfile" in refused.value.remedy) == ("audio", True)
