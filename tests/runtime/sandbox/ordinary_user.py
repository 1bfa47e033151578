# SPDX-License-Identifier: Apache-2.0
"""python -m tests.runtime.sandbox.ordinary_user MODULE: runs a module as an ordinary user, when started by root.

Folders of root's that hide the interpreter from other users are opened in a mount namespace of this process only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from mlhub.runtime.sandbox import kernel

UID = 54_321
PROJECT = Path(__file__).resolve().parents[3]


def run(module: str, text: str, *, timeout_s: float, drop: bool) -> subprocess.CompletedProcess[str]:
    """`python -m module` with this text on its standard input; drop: as an ordinary user, when this one is root."""
    through = ["-m", __name__] if drop and os.geteuid() == 0 else ["-m"]
    return subprocess.run(
        [sys.executable, *through, module],
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=PROJECT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
    )


def main(module: str) -> None:
    needed = sorted({os.path.realpath(sys.base_prefix), os.path.realpath(sys.prefix), str(PROJECT)})
    closed = sorted({closed for path in needed for closed in [_first_closed(Path(path))] if closed is not None})
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    for folder in closed:
        _open_up(folder, [path for path in needed if Path(path).is_relative_to(folder)])
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)
    os.environ["HOME"] = "/nonexistent"
    os.execv(sys.executable, [sys.executable, "-m", module])


def _first_closed(path: Path) -> Path | None:
    return next((p for p in reversed(path.parents) if not p.stat().st_mode & 0o001), None)


def _open_up(folder: Path, shown: list[str]) -> None:
    """Replaces a folder by one that shows these paths below it and nothing else."""
    with tempfile.TemporaryDirectory() as stage:
        for number, path in enumerate(shown):
            held = Path(stage, str(number))
            held.mkdir()
            kernel.mount(path, str(held), "", kernel.MS_BIND | kernel.MS_REC)
        kernel.mount("tmpfs", str(folder), "tmpfs", 0, "mode=0755")
        for number, path in enumerate(shown):
            Path(path).mkdir(parents=True)
            kernel.mount(f"{stage}/{number}", path, "", kernel.MS_BIND | kernel.MS_REC)
            # the sandbox itself never unmounts: no public function of its own does
            kernel.checked(kernel._libc.umount2(f"{stage}/{number}".encode(), kernel.MNT_DETACH), "umount2")


if __name__ == "__main__":
    main(sys.argv[1])
