# SPDX-License-Identifier: Apache-2.0
"""Removes checkpoints of ended jobs from a volume that only pods can mount (python -m mlhub.runtime.checkpoints.sweep).

Folders are named by their jobs. A folder is removed when its job is known to be over and nothing in it was written for
a given time. Folders of jobs that the platform does not name stay: its database may be a restored, older one.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Collection
from pathlib import Path
from uuid import UUID

from mlhub.wire.trees import remove_tree, statuses_below

ENDED = "MLHUB_ENDED"  # ids of jobs, 32 hexadecimal digits each, separated by commas


def sweep(root: Path, *, ended: Collection[UUID], older_than_s: float) -> int:
    """Removes the folders of jobs that have ended, and returns how many."""
    n_removed = 0
    for folder in root.iterdir():
        job = _job_of(folder)
        if job in ended and time.time() - _written_at(folder) > older_than_s:
            remove_tree(folder)
            n_removed += 1
    return n_removed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m mlhub.runtime.checkpoints.sweep")
    parser.add_argument("--root", type=Path, required=True, help="folder of the jobs' folders")
    parser.add_argument("--older-than-s", type=float, required=True)
    asked = parser.parse_args(arguments)
    ended = {UUID(text) for text in os.environ.get(ENDED, "").split(",") if text}
    print(f"sweep: {sweep(asked.root, ended=ended, older_than_s=asked.older_than_s)} folders removed", flush=True)
    return 0


def _job_of(folder: Path) -> UUID | None:
    try:
        return UUID(folder.name) if folder.is_dir() and not folder.is_symlink() else None
    except ValueError:
        return None


def _written_at(folder: Path) -> float:
    """When anything in it was written last."""
    return max([folder.stat().st_mtime, *(found.st_mtime for found in statuses_below(folder))])


if __name__ == "__main__":
    sys.exit(main())
