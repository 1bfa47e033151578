# SPDX-License-Identifier: Apache-2.0
"""Tar archives as folders: unpacked once, shards left alone, and nothing written outside or without bound."""

from __future__ import annotations

import errno
import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.data import archives, folders, tar_archives
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.errors import BadInputError

FILES = {"audio/1.wav": b"12345", "audio/2.wav": b"123", "labels.json": b"{}", "__MACOSX/x": b"litter"}


def packed(path: Path, files: dict[str, bytes], *, mode: Any = "w", **of_each: Any) -> Path:
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for field, value in of_each.items():
                setattr(info, field, value)
            archive.addfile(info, io.BytesIO(content))
    return path


def found_in(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


@pytest.mark.parametrize(("filename", "mode"), [("a.tar", "w"), ("a.TAR.gz", "w:gz"), ("a.tgz", "w:gz")])
def test_a_tar_is_unpacked_once_without_what_systems_put_into_it(tmp_path: Path, filename: str, mode: str) -> None:
    long = {f"{'deep/' * 60}3.wav": b"1"}
    path, cache = packed(tmp_path / "blob", FILES | long, mode=mode), NodeCache(tmp_path / "cache")
    assert folders.is_unpacked(filename, path)
    folder = folders.unpacked(path, sha256="abc", cache=cache)
    assert found_in(folder) == {name: content for name, content in (FILES | long).items() if "MACOSX" not in name}
    path.unlink()
    assert folders.unpacked(path, sha256="abc", cache=NodeCache(tmp_path / "cache")) == folder


def test_a_tar_that_ends_with_a_zip_is_a_tar(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("x", "y")
    path = packed(tmp_path / "blob", {"a.txt": b"1", "b.zip": inner.getvalue()})
    assert set(found_in(folders.unpacked(path, sha256="abc", cache=NodeCache(tmp_path / "cache")))) == {
        "a.txt",
        "b.zip",
    }


@pytest.mark.parametrize(
    "files",
    [
        {"0001.jpg": b"1", "0001.cls": b"2", "0002.jpg": b"3"},
        {"train-0.tar": b"1"},
        {"a/1.seg.png": b"", "a/1.jpg": b""},
    ],
)
def test_shards_stay_files(tmp_path: Path, files: dict[str, bytes]) -> None:
    assert not folders.is_unpacked("train.tar", packed(tmp_path / "blob", files))


def test_what_is_no_tar_or_has_another_name_stays_a_file(tmp_path: Path) -> None:
    assert not folders.is_unpacked("weights.pt", packed(tmp_path / "a", FILES))
    (tmp_path / "b").write_bytes(b"text" * 500)
    assert not folders.is_unpacked("b.tar", tmp_path / "b")
    (tmp_path / "c").write_bytes(gzip.compress(b"text" * 500))
    assert not folders.is_unpacked("c.tar.gz", tmp_path / "c")


@pytest.mark.parametrize(
    ("files", "of_each", "code"),
    [
        ({"../x": b""}, {}, "path_traversal"), ({"/etc/x": b""}, {}, "path_traversal"),
        ({"a/../../x": b""}, {}, "path_traversal"), ({"a\\x": b""}, {}, "path_traversal"),
        ({"a": b""}, {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "link"),
        ({"a": b""}, {"type": tarfile.LNKTYPE, "linkname": "b"}, "link"),
        ({"a": b""}, {"type": tarfile.FIFOTYPE}, "invalid_file"),
        ({"a": b""}, {"type": tarfile.CHRTYPE}, "invalid_file"),
    ],
)  # fmt: skip
def test_what_would_leave_the_folder_or_is_no_file_is_refused(
    tmp_path: Path, files: dict[str, bytes], of_each: dict[str, Any], code: str
) -> None:
    path, cache = packed(tmp_path / "blob", {"ok": b"1"}), NodeCache(tmp_path / "cache")
    with tarfile.open(path, "a") as archive:
        for name in files:
            info = tarfile.TarInfo(name)
            for field, value in of_each.items():
                setattr(info, field, value)
            archive.addfile(info)
    with pytest.raises(BadInputError) as refusal:
        folders.unpacked(path, sha256="abc", cache=cache)
    assert refusal.value.as_dict().get("code", "invalid_file") == code
    assert not (tmp_path / "cache" / "abc-files").exists()
    assert not list(tmp_path.glob("x"))


def test_bombs_are_refused_by_their_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "blob", {f"{n}.txt": b"" for n in range(20)})
    monkeypatch.setattr(tar_archives, "MAX_FILES", 10)
    with pytest.raises(BadInputError, match="more than 10 files"):
        tar_archives.extract(path, tmp_path / "out")
    monkeypatch.undo()
    zeros = packed(tmp_path / "zeros", {"a": bytes(2**20)}, mode="w:gz")
    monkeypatch.setattr(archives, "RATIO_APPLIES_FROM_BYTES", 2**19)
    with pytest.raises(BadInputError) as refusal:
        tar_archives.extract(zeros, tmp_path / "out2")
    assert refusal.value.as_dict()["code"] == "archive_bomb"
    assert not (tmp_path / "out2" / "a").exists()


def test_a_claimed_size_is_neither_believed_nor_read_into_memory(tmp_path: Path) -> None:
    header = tarfile.TarInfo("a")
    header.size = 2**40
    (tmp_path / "long").write_bytes(header.tobuf() + bytes(1024))
    with pytest.raises(BadInputError) as refusal:
        tar_archives.extract(tmp_path / "long", tmp_path / "out")
    assert refusal.value.as_dict()["code"] == "archive_bomb"
    pax = tarfile.TarInfo("a")
    pax.type, pax.size = tarfile.XHDTYPE, 2**33
    with (tmp_path / "pax").open("wb") as file:
        file.write(pax.tobuf())
        os.truncate(file.fileno(), 2**33 + 4096)
    with pytest.raises(BadInputError, match="damaged"):
        tar_archives.extract(tmp_path / "pax", tmp_path / "out")
    cut = packed(tmp_path / "cut", {"a": bytes(100_000)})
    os.truncate(cut, 50_000)
    with pytest.raises(BadInputError, match="damaged"):
        tar_archives.extract(cut, tmp_path / "out")


def test_a_full_disk_is_not_told_of_as_a_damaged_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tar_archives.shutil, "copyfileobj", full)
    with pytest.raises(OSError, match="No space left"):
        tar_archives.extract(packed(tmp_path / "blob", FILES), tmp_path / "out")
