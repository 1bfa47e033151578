# SPDX-License-Identifier: Apache-2.0
"""The format of data that nobody named one for."""

from __future__ import annotations

import io
import tarfile
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mlhub.cli import packing
from mlhub.cli.data_format import format_of, refuse_columns
from mlhub.cli.failures import CommandError
from mlhub.runtime.data import readers


def folder(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")
    return root


@pytest.mark.parametrize(
    ("names", "form"),
    [
        (("cats/1.png", "dogs/2.JPG"), ""),
        (("0.tar", "1.tar"), "webdataset"),
        (("a.csv", "b.csv"), "files"),
        (("dog/1.wav", "rain/2.FLAC"), "audio_folder"),
        (("images/1.png", "annotations.json"), "files"),
        (("1.png", "2.png"), "files"),
    ],
)
def test_a_folder_is_images_by_class_shards_or_files(tmp_path: Path, names: tuple[str, ...], form: str) -> None:
    assert format_of(folder(tmp_path, *names)) == form


def test_a_file_that_no_format_claims_is_one_for_scripts(tmp_path: Path) -> None:
    folder(tmp_path, "data.h5", "table.csv")
    assert format_of(tmp_path / "data.h5") == ""
    assert format_of(tmp_path / "data.h5", is_for_script=True) == "files"
    assert format_of(tmp_path / "table.csv", is_for_script=True) == ""


def png() -> bytes:
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(out := io.BytesIO(), "PNG")
    return out.getvalue()


def wav() -> bytes:
    with wave.open(out := io.BytesIO(), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(1600))
    return out.getvalue()


@pytest.mark.parametrize(("suffix", "sample", "form"), [("png", png(), "webdataset"), ("wav", wav(), "audio_folder")])
def test_a_folder_of_shards_is_packed_as_the_platform_reads_it(
    tmp_path: Path, suffix: str, sample: bytes, form: str
) -> None:
    for i in range(2):
        with tarfile.open(tmp_path / f"train-{i}.tar", "w") as shard:
            for key in range(8):
                for name, content in ((f"{i}{key}.{suffix}", sample), (f"{i}{key}.cls", b"ab"[key % 2 :][:1])):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    shard.addfile(member, io.BytesIO(content))
    assert format_of(tmp_path) == form
    with packing.packed(tmp_path) as file:
        assert readers.inspect(form, file.path, {}).schema["n_examples"] == 16


def test_a_folder_of_tables_with_a_target_says_how_they_become_one(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as refused:
        refuse_columns(folder(tmp_path, "a.parquet", "b.parquet"))
    assert "--from 'file://" in refused.value.remedy
