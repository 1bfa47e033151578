# SPDX-License-Identifier: Apache-2.0
"""Lists the checkpoints of a script as they appear in its folders, however it writes them.

Those of mlhub.runtime.checkpoint() are in script/; a script that knows nothing of MLHub writes them into its output
folder, where they are recognised by their names (checkpoint-500, epoch_3.pt, ckpt.pt). Standard library only.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from mlhub.runtime.reporting import Reporter
from mlhub.runtime.scripts.outputs import LINK, is_checkpoint
from mlhub.wire.report import MAX_CHECKPOINTS, CheckpointReport

SETTLED_S = 2.0  # since the last write: a checkpoint that is being written is none yet
SERIES = {"checkpoints", "checkpoint", "ckpts", "ckpt"}  # folders that hold checkpoints rather than being one
OWN = "script"
_NUMBERS = re.compile(r"\d+")
WriteStamp = tuple[float, int]  # when it was written last, bytes


class CheckpointListing:
    """Remembers what it reported; a checkpoint that was written anew is reported anew."""

    def __init__(self, root: Path, reporter: Reporter) -> None:
        """root: the job's folder of checkpoints. What earlier attempts left there is known already."""
        self._root, self._reporter = root, reporter
        self._known = {path: write_stamp(path) for path in self._found()}

    def look(self, *, is_final: bool = False) -> None:
        """is_final: nothing is written any more."""
        found = sorted(self._found())[:MAX_CHECKPOINTS]
        names = [self._name(path) for path in found]
        for path in found:
            written = write_stamp(path)
            is_settled = is_final or time.time() - written[0] >= SETTLED_S
            if is_settled and written[1] and self._known.get(path) != written:
                self._known[path] = written
                self._report(path, written, names)
        gone = [path for path in self._known if path not in found]
        for path in gone:
            del self._known[path]

    def _report(self, path: Path, written: WriteStamp, names: list[str]) -> None:
        numbers = _NUMBERS.findall(path.name)
        step = int(numbers[-1][:15]) if numbers else 0
        self._reporter.send(
            CheckpointReport(written[0], step, self._name(path), written[1], write_s=0.0, stall_s=0.0, present=names)
        )

    def _name(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _found(self) -> Iterator[Path]:
        own = self._root / OWN
        yield from (path for path in _entries(own) if not path.name.startswith("."))
        yield from _below(self._root / LINK)


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


def _below(folder: Path) -> Iterator[Path]:
    """The outermost ones."""
    for path in _entries(folder):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if is_checkpoint(path.name) and not (path.is_dir() and path.name.lower() in SERIES):
            yield path
        elif path.is_dir():
            yield from _below(path)


def _entries(folder: Path) -> list[Path]:
    """What the folder holds; nothing when it is no folder, or none any more."""
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
