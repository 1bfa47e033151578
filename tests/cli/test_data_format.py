# SPDX-License-Identifier: Apache-2.0
"""The format of data that nobody named one for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlhub.cli.data_format import format_of


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
