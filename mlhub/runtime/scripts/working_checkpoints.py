# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that a script writes into its working folder, which goes with the pod, are copied to the output folder.

results/checkpoint-500 and lightning_logs/version_0/checkpoints/epoch=2-step=96.ckpt, where the Trainer of Hugging Face
and Lightning put them by themselves, are examples. The next attempt finds them where the script wrote them. A manifest
in the job's folder lists the copies, so that those which a script rotates out go again. Standard library only.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Iterator, Set
from pathlib import Path

from mlhub.runtime.data.archives import repository_folder
from mlhub.runtime.scripts.outputs import LINK, MAX_STRAY_BYTES, NOT_RESULTS, STATE_FILE, is_checkpoint

MANIFEST = "working_checkpoints.json"
SETTLED_S = 2.0  # since the last write: a checkpoint that is being written is none yet
SERIES = {"checkpoints", "checkpoint", "ckpts", "ckpt"}  # folders that hold checkpoints rather than being one
WriteStamp = tuple[float, int]  # when it was written last, bytes


class WorkingCheckpoints:
    """Copies what is new or changed, removes copies of what is gone."""

    def __init__(self, code: Path, kept: Path, *, brought: Set[str]) -> None:
        """code: the working folder. kept: the job's folder of checkpoints. brought: files of the package by name."""
        self._code, self._kept, self._brought = code, kept, brought
        self._copied = {name: write_stamp(kept / LINK / name) for name in read_manifest(kept)}
        self._seen: set[str] = set()  # in this attempt: before, what earlier ones left may not be put back yet

    def look(self, *, now_s: float, is_final: bool = False) -> list[str]:
        """Returns the names that were left out, since more than MAX_STRAY_BYTES would be copied. Raises OSError.

        now_s: seconds since the epoch. is_final: nothing is written any more.
        """
        found = {path.relative_to(self._code).as_posix(): path for path in self._found()}
        self._seen |= found.keys()
        for name in [name for name in self._copied if name in self._seen and name not in found]:
            remove(self._kept / LINK / name)
            del self._copied[name]
            self._write_manifest()
        left_out, n_bytes, failed = [], 0, None
        stamps = {name: write_stamp(path) for name, path in found.items()}
        for name in sorted(
            found, key=lambda each: stamps[each][0], reverse=True
        ):  # the newest are the ones to go on from
            path, written = found[name], stamps[name]
            n_bytes += written[1]
            if n_bytes > MAX_STRAY_BYTES:
                left_out.append(name)
                self._forget(name, unless=written)
            elif written[1] and self._copied.get(name) != written and (is_final or now_s - written[0] >= SETTLED_S):
                try:
                    _copy(path, self._kept / LINK / name)
                except OSError as error:  # one that cannot be read keeps no other from being copied
                    failed = error
                    continue
                self._copied[name] = written
                self._write_manifest()
        if failed is not None:
            raise failed
        return sorted(left_out)

    def _forget(self, name: str, *, unless: WriteStamp) -> None:
        """Removes an older copy: the next attempt would take it for the newest."""
        if name in self._copied and self._copied[name] != unless:
            remove(self._kept / LINK / name)
            del self._copied[name]
            self._write_manifest()

    def _found(self) -> Iterator[Path]:
        skipped = {self._code / name for name in (LINK, *NOT_RESULTS)}
        for path in checkpoints_below(self._code, without=skipped):
            name = path.relative_to(self._code).as_posix()
            if name not in self._brought and not any(each.startswith(f"{name}/") for each in self._brought):
                yield path

    def _write_manifest(self) -> None:
        path = self._kept / MANIFEST
        new = path.with_suffix(".new")
        new.write_text(json.dumps(sorted(self._copied)))
        new.replace(path)


def put_back(code: Path, kept: Path) -> None:
    """Copies what earlier attempts left into the working folder, which is unpacked, where nothing has its name."""
    for name in read_manifest(kept):
        source, target = kept / LINK / name, code / name
        if source.exists() and not target.exists():
            _copy(source, target)


def read_manifest(kept: Path) -> list[str]:
    """Names below the working folder, and likewise below the output folder. Of a damaged manifest: none."""
    try:
        found = json.loads((kept / MANIFEST).read_text())
    except (OSError, ValueError, RecursionError):
        return []
    is_plain = isinstance(found, list) and all(isinstance(name, str) for name in found)
    return [name for name in found if ".." not in Path(name).parts and not Path(name).is_absolute()] if is_plain else []


def files_of(package: Path, *, entry: str) -> frozenset[str]:
    """The files of a script's zip, as they are in its working folder; of one that cannot be read: none."""
    try:
        with zipfile.ZipFile(package) as archive:
            names = archive.namelist()
            return frozenset(name.removeprefix(repository_folder(names, entry)) for name in names)
    except (OSError, zipfile.BadZipFile):
        return frozenset()


def checkpoints_below(folder: Path, *, without: Set[Path] = frozenset()) -> Iterator[Path]:
    """The outermost files and folders with the name of a checkpoint, and in checkpoints/ all files of states."""
    is_series = folder.name.lower() in SERIES
    for path in entries(folder):
        if path.name.startswith(".") or path.is_symlink() or path in without:
            continue
        is_state = is_series and path.is_file() and STATE_FILE.search(path.name) is not None
        if is_state or (is_checkpoint(path.name) and not (path.is_dir() and path.name.lower() in SERIES)):
            yield path
        elif path.is_dir():
            yield from checkpoints_below(path, without=without)


def entries(folder: Path) -> list[Path]:
    """What the folder holds; nothing when it is no folder, or none any more."""
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def write_stamp(path: Path) -> WriteStamp:
    """When anything in it was written last, and its bytes; of what goes meanwhile, what is left."""
    newest, size_bytes = 0.0, 0
    inner = (Path(parent) / name for parent, folders, files in os.walk(path) for name in (*folders, *files))
    for file in (path, *inner):
        try:
            status = file.lstat()
        except FileNotFoundError:
            continue
        newest = max(newest, status.st_mtime)
        size_bytes += 0 if file.is_dir() else status.st_size
    return newest, size_bytes


def remove(path: Path) -> None:
    """A file or a folder, or nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    """Whole or not at all, with times; links are left out, since they could lead elsewhere."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.copying")
    remove(aside)
    try:
        if source.is_dir():
            shutil.copytree(source, aside, ignore=lambda at, names: [n for n in names if os.path.islink(f"{at}/{n}")])
        else:
            shutil.copy2(source, aside)
        remove(target)
        aside.rename(target)
    except BaseException:
        remove(aside)
        raise
