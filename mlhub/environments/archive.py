# SPDX-License-Identifier: Apache-2.0
"""A layer as one zip: the same files give the same bytes, so that organisations with the same layer share a blob."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Callable
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest date that a zip can carry
FAST = 1  # libraries hardly pack better at higher levels, which take several times as long
EXECUTABLE, PLAIN = 0o755, 0o644  # modes of files
OF_THE_INSTALL = ("direct_url.json", "uv_cache.json")  # when and where from: differs from build to build


def pack(folder: Path, target: Path, *, check: Callable[[], None] = lambda: None) -> None:
    """Writes all regular files of the folder into a zip at `target`. Links are left out: wheels have none.

    check: called between pieces, to raise what ends the packing.

    Of a file's mode only whether it is executable is kept: the rest depends on the machine that built it.
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=FAST) as archive:
        for path in _files(folder):
            info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            mode = EXECUTABLE if path.stat().st_mode & 0o111 else PLAIN
            info.external_attr = (stat.S_IFREG | mode) << 16
            with path.open("rb") as source, archive.open(info, "w", force_zip64=True) as member:
                while piece := source.read(2**20):
                    member.write(piece)
                    check()


def packages_in(folder: Path) -> list[dict[str, str]]:
    """The packages that the folder holds, as {name, version}, by name."""
    found: list[Distribution] = [PathDistribution(path) for path in folder.glob("*.dist-info")]
    listed = [{"name": str(each.metadata["Name"]), "version": each.version} for each in found]
    return sorted(listed, key=lambda each: each["name"].lower())


def _files(folder: Path) -> list[Path]:
    found = []
    for parent, _, names in os.walk(folder):
        found += [Path(parent) / name for name in names if name not in OF_THE_INSTALL]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())
