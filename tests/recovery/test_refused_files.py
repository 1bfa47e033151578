# SPDX-License-Identifier: Apache-2.0
"""What is no backup, and a file that cannot be read or written, are refused in words, by every command."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from mlhub.recovery.archive import BackupError, Manifest, reading, writing
from mlhub.recovery.management.commands import backup as backup_command
from mlhub.recovery.management.commands import restore as restore_command


def test_a_manifest_that_is_none_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "odd.backup"
    for text in ("[1]", "{}", '{"format": 1}', '{"format": 1, "members": {}, "of a later form": 1}', "nothing"):
        with writing(path) as writer:
            writer.add("manifest.json", io.BytesIO(text.encode()), size_bytes=len(text))
        with pytest.raises(BackupError, match=r"damaged|has the form None"), reading(path):
            pass


@pytest.mark.parametrize("command", [["backup"], ["backup", "--verify"], ["restore"]])
def test_a_folder_in_place_of_the_file_is_refused_in_words(db: None, tmp_path: Path, command: list[str]) -> None:
    with pytest.raises(CommandError, match=r"is a folder|cannot be read: Is a directory"):
        call_command(*command, str(tmp_path))


def test_a_disk_that_fails_is_named_without_a_traceback(
    db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error", str(tmp_path / "b"))

    monkeypatch.setattr(backup_command, "create_backup", fails)
    with pytest.raises(CommandError, match=r"cannot be written: .*Input/output error.* may write"):
        call_command("backup", str(tmp_path / "b"))
    monkeypatch.setattr(restore_command, "restore_backup", fails)
    with pytest.raises(CommandError, match=r"Input/output error.*in its place"):
        call_command("restore", str(tmp_path / "b"))


def test_a_file_that_is_missing_in_the_middle_of_a_restore_is_not_taken_for_the_backup(tmp_path: Path) -> None:
    path = tmp_path / "whole.backup"
    with writing(path) as writer:
        writer.finish(Manifest("2026-01-01T00:00:00+00:00", "0", 1, {}))
    with pytest.raises(FileNotFoundError, match="elsewhere"), reading(path):
        raise FileNotFoundError(2, "elsewhere")
