# SPDX-License-Identifier: Apache-2.0
"""The built-in classifier of audio: its spectrogram, what it learns, and random parts of long clips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mlhub.runtime.data import augmentation, readers
from mlhub.runtime.data.augmentation_options import check_augment
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.builtin import audio_cnn
from mlhub.runtime.model.contract import load_contract
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.datasets.audio import RATE, clip, encoded, shard_of_clips, zip_of_clips
from tests.datasets.files import zipped
from tests.runtime.gang import Gang

FACTS = {"input_shape": [1, 1600], "sample_rate": RATE, "n_classes": 2}


def test_a_tone_is_loudest_in_the_band_of_its_frequency() -> None:
    spectrogram = audio_cnn.build_model(FACTS)[0]
    filters, bins = spectrogram.filters, torch.linspace(0, RATE / 2, spectrogram.n_fft // 2 + 1)
    for frequency in (300.0, 1000.0, 3000.0):
        tone = torch.sin(2 * torch.pi * frequency * torch.arange(1600) / RATE)[None, None]
        band = int(spectrogram(tone)[0, 0].mean(-1).argmax())
        heard = float((filters[band] * bins).sum() / filters[band].sum())
        assert heard == pytest.approx(frequency, rel=0.05)
    torch.testing.assert_close(filters.sum(1)[filters.sum(1) > 0], torch.ones(int((filters.sum(1) > 0).sum())))


def test_it_has_the_same_outputs_in_half_precision_and_no_state_but_weights() -> None:
    torch.manual_seed(0)
    model, samples = audio_cnn.build_model(FACTS).eval(), 0.1 * torch.randn(3, 1, 1600)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = model(samples)
    torch.testing.assert_close(half.float(), model(samples), atol=0.05, rtol=0.1)
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({**FACTS, "n_mels": 0}, "hyperparameters.n_mels"),
        ({**FACTS, "hop_ms": 0.0}, "hyperparameters.hop_ms"),
        ({"input_shape": [1, 1600], "n_classes": 2}, "model"),
    ],
)
def test_what_it_cannot_compute_names_its_field(values: dict[str, object], field: str) -> None:
    facts = {name: value for name, value in values.items() if name in FACTS}
    given = {name: value for name, value in values.items() if name not in FACTS}

    def build() -> None:
        contract = load_contract(ModelSpec(kind="builtin", entry="audio_cnn"), None, code=Path(), facts=facts)
        contract.build_model(contract.settings(given, facts))

    with pytest.raises(BadInputError) as refused:
        build()
    assert refused.value.field == field


@pytest.mark.parametrize("content", [zip_of_clips(24), shard_of_clips(24)], ids=["folders", "a shard"])
def test_it_learns_to_tell_tones_from_noise(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "clips").write_bytes(content)
    schema = readers.inspect("audio_folder", tmp_path / "clips", {}).schema
    data = readers.open_split("audio_folder", tmp_path / "clips", schema, validation=ValidationSplit())
    torch.manual_seed(0)
    model = audio_cnn.build_model({**data.facts, "width": 4, "n_mels": 16})
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(10):
        inputs, targets = data.batch(data.train)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    inputs, targets = data.batch(data.held_out)
    assert (model.eval()(inputs).argmax(-1) == targets).all()


def test_random_parts_of_long_clips_are_the_same_for_a_seed(tmp_path: Path) -> None:
    ramp = np.linspace(0, 0.9, RATE, dtype=np.float32)
    (tmp_path / "a.zip").write_bytes(zipped({"a/1.wav": encoded(ramp), "b/1.wav": clip(1), "b/2.wav": clip(3)}))
    schema = readers.inspect("audio_folder", tmp_path / "a.zip", {"clip_s": 0.25}).schema
    data = readers.open_split("audio_folder", tmp_path / "a.zip", schema, validation=ValidationSplit())

    def begins(seed: int) -> list[float]:
        generator = torch.Generator().manual_seed(seed)
        indices = np.zeros(20, dtype=np.int64)
        inputs, targets = augmentation.batch(data, indices, ["crop"], generator)
        assert inputs.shape == (20, 1, 2000)
        assert targets.tolist() == [0] * 20
        assert (inputs[:, 0, 1:] >= inputs[:, 0, :-1]).all()
        return inputs[:, 0, 0].tolist()

    assert begins(1) == begins(1) != begins(2)
    assert min(begins(1)) < 0.2
    assert 0.5 < max(begins(1)) < 0.9 * 0.75 + 0.01
    middle, _ = data.batch(np.array([0]))
    assert float(middle[0, 0, 0]) == pytest.approx(0.9 * 0.375, abs=0.001)


def test_noise_is_in_proportion_to_a_clip(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_of_clips(4))
    schema = readers.inspect("audio_folder", tmp_path / "a.zip", {}).schema
    data = readers.open_split("audio_folder", tmp_path / "a.zip", schema, validation=ValidationSplit())
    clean, _ = data.batch(data.train)
    noisy, _ = augmentation.batch(data, data.train, ["noise"], torch.Generator().manual_seed(0))
    ratio = (noisy - clean).std(-1) / clean.square().mean(-1).sqrt()
    torch.testing.assert_close(ratio, torch.full_like(ratio, augmentation.NOISE), rtol=0.1, atol=0.0)


def test_clips_are_not_flipped_and_images_not_cut() -> None:
    with pytest.raises(BadInputError, match="no augmentation flip of audio"):
        check_augment(["flip"], FACTS)
    with pytest.raises(BadInputError, match="no augmentation crop of images"):
        check_augment(["crop"], {"input_shape": [3, 8, 8]})


@pytest.mark.slow
def test_workers_that_resume_give_the_weights_of_a_training_that_was_not_cut(tmp_path: Path) -> None:
    (tmp_path / "clips.zip").write_bytes(zip_of_clips(12))
    training = TrainingSpec(epochs=20, batch_size=2, hyperparameters={"width": 4, "n_mels": 16, "dropout": 0.0})
    weights = []
    for name in ("whole", "broken"):
        model = ModelSpec(kind="builtin", entry="audio_cnn")
        gang = Gang(tmp_path / name, tmp_path / "clips.zip", format="audio_folder", model=model, training=training)
        if name == "broken":
            gang.start(n_workers=2, pause_after=7)
            gang.leave_paused()
            assert set(gang.wait().values()) == {ExitCode.PREEMPTED}, gang.logs()
        gang.start()
        assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
        weights.append(gang.weights())
    for one, other in zip(weights[0].values(), weights[1].values(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
