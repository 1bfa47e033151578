# SPDX-License-Identifier: Apache-2.0
"""Audio in class folders: what was recorded arrives at one rate and length; all faults are named at once."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlhub.runtime.data import readers
from mlhub.runtime.data.readers.audio import decoding, reader
from mlhub.runtime.data.readers.audio.signal import resampled
from mlhub.runtime.data.readers.examples import InspectionResult
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.errors import BadInputError
from tests.datasets.audio import RATE, clip, clips, encoded, signal, tar_of_clips, zip_of_clips
from tests.datasets.files import tarred, zipped


def written(folder: Path, content: bytes) -> Path:
    path = folder / "upload"
    path.write_bytes(content)
    return path


def inspected(folder: Path, members: dict[str, bytes], **options: Any) -> InspectionResult:
    return readers.inspect("audio_folder", written(folder, zipped(members)), options)


@pytest.mark.parametrize("content", [zip_of_clips(), tar_of_clips(), tarred({"a.tar": tar_of_clips()})])
def test_clips_are_those_that_were_recorded_however_they_are_packed(content: bytes, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    found = readers.inspect("audio_folder", path, {})
    assert found.schema["classes"] == ["noise", "tone"]
    assert found.schema["class_counts"] == [6, 6]
    assert (found.schema["input_shape"], found.schema["sample_rate"]) == ([1, 1600], RATE)
    inputs, targets = readers.open_all("audio_folder", path, found.schema).batch(np.array([0, 11]))
    assert targets.tolist() == [0, 1]
    np.testing.assert_allclose(inputs[0, 0].numpy(), signal(1), atol=1e-4)  # 16 bits
    np.testing.assert_allclose(inputs[1, 0].numpy(), signal(10), atol=1e-4)
    assert readers.names_of("audio_folder", path)[0].endswith("noise/001.wav")


def test_several_tar_files_are_one_dataset(tmp_path: Path) -> None:
    for i in range(2):
        (tmp_path / f"{i}.tar").write_bytes(tar_of_clips(4))
    assert readers.inspect("audio_folder", tmp_path, {}).schema["n_examples"] == 8


def shard(first: int, *, suffix: str = ".cls", folder: str = "", format: str = "WAV") -> dict[str, bytes]:
    """Two samples, of a tone and of noise."""
    found = {}
    for i, label in ((first, "tone"), (first + 1, "noise")):
        found[f"{folder}{i:03}.{format.lower()}"] = clip(i, format=format)
        said = label if suffix == ".cls" else json.dumps({"label": label, "who": f"of {label}"})
        found[f"{folder}{i:03}{suffix}"] = said.encode()
    return found


@pytest.mark.parametrize("format", ["WAV", "FLAC", "OGG", "MP3"])
@pytest.mark.parametrize("suffix", [".cls", ".json"])
def test_clips_of_shards_have_the_class_that_is_beside_them(suffix: str, format: str, tmp_path: Path) -> None:
    parts = {
        "train-0.tar": tarred(shard(0, suffix=suffix, format=format)),
        "val-0.tar": tarred(shard(2, suffix=suffix, format=format)),
    }
    path = written(tmp_path, tarred(parts))
    schema = readers.inspect("audio_folder", path, {}).schema
    assert (schema["classes"], schema["class_counts"], schema["n_held_out"]) == (["noise", "tone"], [2, 2], 2)
    assert readers.open_all("audio_folder", path, schema).batch(np.arange(4))[1].tolist() == [1, 0, 1, 0]


def test_a_field_of_the_json_is_named_and_folders_of_shards_are_parts(tmp_path: Path) -> None:
    members = {**shard(0, suffix=".json", folder="train/"), **shard(2, suffix=".json", folder="test/")}
    path = written(tmp_path, tarred(members))
    schema = readers.inspect("audio_folder", path, {"target": "who"}).schema
    assert (schema["classes"], schema["n_held_out"]) == (["of noise", "of tone"], 2)
    assert readers.open_all("audio_folder", path, schema).batch(np.array([0, 3]))[1].tolist() == [1, 0]


def test_json_beside_clips_in_class_folders_changes_no_class(tmp_path: Path) -> None:
    members = {"a/1.wav": clip(0), "a/1.json": b'{"label": "b"}', "b/2.wav": clip(1)}
    assert readers.inspect("audio_folder", written(tmp_path, tarred(members)), {}).schema["class_counts"] == [1, 1]


@pytest.mark.parametrize(
    ("members", "options", "field", "words"),
    [
        ({"0.cls": b"a", "1.wav": b""}, {}, "file", "1.wav is in no folder, and has no .cls"),
        ({"0.cls": b"\xff"}, {}, "file", "is not UTF-8"),
        ({"0.json": b"{}"}, {}, "target", "has no field target or label"),
        ({"0.json": b'{"a": 1}'}, {"target": "b"}, "target", "There are: a"),
        ({"0.cls": b"a"}, {"target": "b"}, "target", "has no JSON"),
    ],
)
def test_a_clip_of_a_shard_without_a_class_is_refused(
    members: dict[str, bytes], options: dict[str, Any], field: str, words: str, tmp_path: Path
) -> None:
    path = written(tmp_path, tarred({"0.wav": clip(0), **members}))
    with pytest.raises(BadInputError) as caught:
        readers.inspect("audio_folder", path, options)
    assert caught.value.field == field
    assert words in f"{caught.value} {caught.value.remedy}"


def test_a_field_is_refused_for_a_zip(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="folders name the classes"):
        inspected(tmp_path, {"a/1.wav": clip(0)}, target="label")


def test_shards_of_audio_that_are_read_as_pictures_are_refused_with_the_right_format(tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        readers.inspect("webdataset", written(tmp_path, tarred(shard(0))), {})
    assert "audio_folder" in str(caught.value.remedy)


@pytest.mark.parametrize("format", ["FLAC", "OGG", "MP3"])
def test_packed_formats_are_decoded(format: str, tmp_path: Path) -> None:
    name = f"1.{format.lower()}"
    loud = {f"a/{name}": clip(0, format=format, seconds=1.0), f"b/{name}": clip(2, format=format, seconds=1.0)}
    found = inspected(tmp_path, loud)
    assert found.statistics["formats"] == [{"value": format, "n": 2}]
    inputs, _ = readers.open_all("audio_folder", tmp_path / "upload", found.schema).batch(np.array([0]))
    loudest = int(np.abs(np.fft.rfft(inputs[0, 0].numpy())).argmax() * RATE / inputs.shape[-1])
    assert loudest == pytest.approx(400, abs=3)


def test_clips_get_one_channel_one_rate_and_one_length(tmp_path: Path) -> None:
    stereo = np.stack([signal(0, seconds=1.0), np.zeros(RATE, np.float32)], 1)
    members = {"a/short.wav": clip(2, seconds=0.1), "a/stereo.wav": encoded(stereo), "b/fine.wav": clip(4, rate=44_100)}
    found = inspected(tmp_path, members, sample_rate=4000, clip_s=0.5)
    assert found.schema["input_shape"] == [1, 2000]
    inputs, _ = readers.open_all("audio_folder", tmp_path / "upload", found.schema).batch(np.arange(3))
    short, mixed, fine = inputs[:, 0].numpy()
    assert not short[450:].any()
    times = np.arange(2000) / 4000 + 0.25  # the middle of the second
    np.testing.assert_allclose(mixed, 0.25 * np.sin(2 * np.pi * 400 * times), atol=0.02)
    np.testing.assert_allclose(fine[50:750], (0.5 * np.sin(2 * np.pi * 480 * np.arange(800) / 4000))[50:750], atol=0.01)
    statistics = found.statistics
    assert (statistics["n_cut"], statistics["n_padded"]) == (1, 2)
    assert statistics["channels"] == [{"value": 1, "n": 2}, {"value": 2, "n": 1}]
    assert sum(statistics["duration"]["histogram"]["counts"]) == 3
    assert statistics["classes"][0] == {"name": "a", "n": 2, "total_s": 1.1}


def test_frequencies_that_a_lower_rate_cannot_carry_are_filtered_out() -> None:
    high = np.sin(2 * np.pi * 12_000 * np.arange(44_100) / 44_100).astype(np.float32)
    assert np.abs(resampled(high, 44_100, 16_000)[200:-200]).max() < 0.01
    assert len(resampled(high[:1], 44_100, 47_999)) == 2


def test_a_folder_of_tests_is_held_out(tmp_path: Path) -> None:
    members = {f"{part}/{name.partition('/')[2]}": raw for part in ("train", "test") for name, raw in clips(4).items()}
    schema = inspected(tmp_path, members).schema
    split = readers.open_split("audio_folder", tmp_path / "upload", schema, validation=ValidationSplit())
    assert (len(split.train), len(split.held_out), split.facts["sample_rate"]) == (4, 4, RATE)


def patched(raw: bytes, offset: int, form: str, value: int) -> bytes:
    return raw[:offset] + struct.pack(form, value) + raw[offset + struct.calcsize(form) :]


SOUND = clip(0)
FAULTS = {
    "text.wav": (b"hello, this is text", "is no audio"),
    "empty.wav": (b"", "is empty"),
    "silent.wav": (encoded(np.zeros(0, np.float32)), "has no samples"),
    "fast.wav": (patched(SOUND, 24, "<I", 2_000_000), "has a sample rate"),
    "slow.wav": (patched(SOUND, 24, "<I", 1), "has a sample rate of 1 Hz"),
    "long.flac": (encoded(np.zeros(1000 * 3601, np.float32), rate=1000, format="FLAC"), "lasts 1.0 hours"),
    "cut.flac": (clip(1, format="FLAC", seconds=2.0)[:9000], "is damaged|is cut off|no audio"),
    "broken.wav": (encoded(np.full(99, np.nan, np.float32), subtype="FLOAT"), "no numbers"),
}


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    members = {f"a/{name}": raw for name, (raw, _) in FAULTS.items()}
    with pytest.raises(BadInputError, match=f"{len(FAULTS) + 1} of 12 clips") as refused:
        inspected(tmp_path, {**members, **clips(3), "loose.wav": SOUND})
    message = refused.value.message
    for name, (_, words) in FAULTS.items():
        part = message.partition(f"a/{name} ")[2].partition("; ")[0]
        assert any(word in part for word in words.split("|")), (name, message)
    assert "loose.wav is in no folder" in message
    assert refused.value.field == "file"
    assert "Repair, convert or remove" in refused.value.remedy


def test_many_faults_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "N_NAMED", 3)
    with pytest.raises(BadInputError, match=r"8 of 8 clips .*; and 5 more"):
        inspected(tmp_path, {f"a/{i}.wav": b"no" for i in range(8)})


def test_a_bomb_is_refused_before_it_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "RATIO_APPLIES_FROM_BYTES", 2**20)
    quiet = encoded(np.zeros(1_000_000, np.int16), rate=44_100, format="FLAC")
    with pytest.raises(BadInputError, match="would unpack to 2,000,000 bytes"):
        inspected(tmp_path, {"a/1.flac": quiet, "b/1.wav": SOUND})


@pytest.mark.parametrize(
    ("members", "options", "field", "words"),
    [
        ({"a/1.txt": b"x"}, {}, "file", "no audio in the archive"),
        ({"a/1.wav": SOUND}, {}, "file", "of one class"),
        ({"train/a/1.wav": SOUND, "test/b/1.wav": SOUND}, {}, "file", "no clips to train on"),
        (clips(2), {"sample_rate": 100}, "sample_rate", "100"),
        (clips(2), {"clip_s": 1e9}, "clip_s", "1000000000"),
    ],
)
def test_what_cannot_be_trained_on_names_its_field(
    members: dict[str, bytes], options: dict[str, Any], field: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInputError, match=words) as refused:
        inspected(tmp_path, members, **options)
    assert refused.value.field == field
    assert refused.value.remedy


def test_clips_without_folders_are_only_predicted_on(tmp_path: Path) -> None:
    schema = inspected(tmp_path, {"1.wav": SOUND, "2.wav": SOUND}, targets="none").schema
    assert schema["task"] == "none"
    assert len(readers.open_all("audio_folder", tmp_path / "upload", schema)) == 2
