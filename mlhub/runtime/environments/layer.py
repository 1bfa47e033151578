# SPDX-License-Identifier: Apache-2.0
"""The layer of an environment: a folder of packages that Python searches before the platform's site-packages.

It is searched after the platform's own code, so that no package takes the place of mlhub. What the runtime itself
imports (torch, NumPy and more) is not in a layer, unless the user pinned another version of it.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from mlhub.runtime.data import archives
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.errors import BadInputError


def unpacked_layer(archive: Path, cache: NodeCache, *, sha256: str) -> Path:
    """The folder of the environment's packages, unpacked once for all pods that share the cache.

    It stays while the cache is open. Raises BadInputError for a damaged archive, and for packages that are compiled for
    another Python; OSError for a full disk.
    """

    def unpack(folder: Path) -> None:
        _unpack(archive, folder)

    return cache.get(f"{sha256}.environment", unpack)


def search_path(before: str, layer: Path) -> str:
    """PYTHONPATH with the layer after what is there already, which is the platform's own code."""
    return os.pathsep.join([*filter(None, [before]), str(layer)])


def use_layer(archive: Path, folder: Path) -> None:
    """Unpacks the layer into the folder and lets this process, and those that it starts, import from it.

    Raises what unpacked_layer() raises.
    """
    _unpack(archive, folder)
    first = next((i for i, entry in enumerate(sys.path) if entry.endswith("-packages")), len(sys.path))
    sys.path.insert(first, str(folder))
    os.environ["PYTHONPATH"] = search_path(os.environ.get("PYTHONPATH", ""), folder)


def _unpack(archive: Path, folder: Path) -> None:
    """Import would only say that a module is not there, of one that is compiled for another Python or processor."""
    archives.extract(archive, folder, keeps_executables=True)
    own = str(sysconfig.get_config_var("EXT_SUFFIX"))
    compiled = sorted(path.name for path in folder.rglob("*.cpython-*.so"))
    if compiled and not any(name.endswith(own) for name in compiled):
        raise BadInputError(
            f"The packages of this code were built for another Python than this pod's: {compiled[0]} is no {own}.",
            field="environment",
            remedy="Submit the job again: its packages are then built for the platform as it is now.",
        )
