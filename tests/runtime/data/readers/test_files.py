# SPDX-License-Identifier: Apache-2.0
"""Files of any kind: counted and listed, unpacked once for a node, and never taken for examples."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from mlhub.runtime.data import folders, readers
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.errors import BadInputError


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as out:
        for name, content in files.items():
            out.writestr(name, content)
    return path


FILES = {"audio/1.wav": b"12345", "audio/2.WAV": b"123", "labels.json": b"{}", "__MACOSX/audio/._1.wav": b"x"}


def test_files_are_counted_by_suffix_and_listed(tmp_path: Path) -> None:
    found = readers.inspect("files", archive(tmp_path / "x.zip", FILES), {})
    assert found.schema == {"task": "files", "n_files": 3, "n_bytes": 10}
    assert [file["name"] for file in found.preview["files"]] == ["audio/1.wav", "audio/2.WAV", "labels.json"]
    assert found.preview["suffixes"][0] == {"suffix": ".wav", "n_files": 2, "size_bytes": 8}


def test_a_preview_stays_small_however_many_files_there_are(tmp_path: Path) -> None:
    many = archive(tmp_path / "x.zip", {f"{i}.{i % 50}": b"" for i in range(3_000)})
    preview = readers.inspect("files", many, {}).preview
    assert preview["n_files"] == 3_000
    assert (len(preview["files"]), len(preview["suffixes"])) == (200, 20)


def test_one_file_that_is_no_archive_is_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "data.h5").write_bytes(b"\x89HDF")
    assert readers.inspect("files", tmp_path / "data.h5", {}).schema["n_files"] == 1


@pytest.mark.parametrize(
    ("files", "code"),
    [({"../x": b""}, "path_traversal"), ({"x": b"\0" * 60_000_000}, "archive_bomb"), ({}, "invalid_file")],
)
def test_an_unsafe_or_empty_archive_is_refused(tmp_path: Path, files: dict[str, bytes], code: str) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            out.writestr(name, content)
    with pytest.raises(BadInputError) as refusal:
        readers.inspect("files", path, {})
    assert refusal.value.as_dict()["code"] == code


def test_they_are_no_examples(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.zip", FILES)
    with pytest.raises(BadInputError, match="no examples"):
        readers.open_all("files", path, {"task": "files"})


def test_an_archive_is_unpacked_once_without_what_systems_put_into_it(tmp_path: Path) -> None:
    path, cache = archive(tmp_path / "x.zip", FILES), NodeCache(tmp_path / "cache")
    folder = folders.unpacked(path, sha256="abc", cache=cache)
    assert sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()) == [
        "audio/1.wav", "audio/2.WAV", "labels.json",
    ]  # fmt: skip
    path.unlink()
    assert folders.unpacked(path, sha256="abc", cache=NodeCache(tmp_path / "cache")) == folder


def test_a_file_that_only_is_a_zip_inside_stays_a_file(tmp_path: Path) -> None:
    path = archive(tmp_path / "x", {"word/document.xml": b""})
    assert folders.is_unpacked("photos.ZIP", path)
    assert not folders.is_unpacked("letter.docx", path)
    (tmp_path / "y").write_bytes(b"text")
    assert not folders.is_unpacked("broken.zip", tmp_path / "y")
