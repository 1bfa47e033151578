# SPDX-License-Identifier: Apache-2.0
"""Checkpoints on the platform's own disk: the newest complete one of each job, read and put back as a whole."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from mlhub.recovery.archive import BackupReader

MANIFEST = "manifest.json"  # of a checkpoint: it is complete once this is there


@contextlib.contextmanager
def opened_checkpoint(job_folder: Path) -> Iterator[tuple[str, dict[str, IO[bytes]]]]:
    """The newest complete checkpoint: its folder's name and its files, "" and none if there is none.

    All files are open before the first one is read, so that one that the job removes meanwhile is read all the same.
    """
    with contextlib.ExitStack() as files:
        for folder in _complete(job_folder):
            with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as opening:
                found: dict[str, IO[bytes]] = {}
                for path in sorted(folder.iterdir()):
                    found[path.name] = opening.enter_context(path.open("rb"))
                if MANIFEST in found:
                    files.enter_context(opening.pop_all())
                    yield folder.name, found
                    return
        yield "", {}


def restore_checkpoints(backup: BackupReader, root: Path) -> int:
    """Puts back what is absent; returns how many checkpoints. One that was put back in part is not there at all."""
    by_folder: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for member, job, folder, name in backup.checkpoints():
        by_folder.setdefault((job, folder), []).append((member, name))
    absent = {key: files for key, files in by_folder.items() if not root.joinpath(*key).exists()}
    for (job, folder), files in absent.items():
        temporary = root / job / f".restoring-{folder}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        for member, name in files:
            with backup.open(member) as source, (temporary / name).open("wb") as target:
                shutil.copyfileobj(source, target)
        temporary.rename(root / job / folder)
    return len(absent)


def _complete(job_folder: Path) -> Iterable[Path]:
    folders = [path.parent for path in job_folder.glob(f"attempt-*/{MANIFEST}")]
    return sorted(folders, key=lambda path: path.name, reverse=True)
