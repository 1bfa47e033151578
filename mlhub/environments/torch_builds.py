# SPDX-License-Identifier: Apache-2.0
"""Libraries that are compiled against one build of torch: those for CUDA cannot be imported next to a torch for CPUs.

The package index has the same version for each, and what is installed says for which it is only within the package:
torchvision 0.28.0 of PyPI is 0.28.0+cu130. Nothing of a package is run to find it out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from mlhub.environments.failures import BuildError, wrong_torch_build

COMPILED_AGAINST_TORCH = ("torchvision", "torchaudio")
VERSION = re.compile(r"""^__version__(?:: str)? = ['"]([^'"]+)['"]""", re.MULTILINE)
CUDA = re.compile(r"cu(\d+)\d")  # cu130 is CUDA 13.0


def wrong_build(layer: Path) -> BuildError | None:
    """The error about the first library in the folder that the torch of its pods cannot load."""
    if (layer / "torch").exists():  # the user's own, from the index that the libraries are from
        return None
    return wrong_version({name: _version_in(layer / name) for name in COMPILED_AGAINST_TORCH})


def wrong_version(versions: Mapping[str, str]) -> BuildError | None:
    """The error about the first of these libraries, by name, whose version says that it is for another torch."""
    torch = platform_torch()
    for name, version in versions.items():
        if not _go_together(_build_of(torch), _build_of(version)):
            return wrong_torch_build(name, version, torch, build=_build_of(torch))
    return None


@cache
def platform_torch() -> str:
    """The version of the platform's torch with its build, such as 2.13.0+cpu. It is not imported for this."""
    found = find_spec("torch")
    return _version_in(Path(found.origin).parent) if found is not None and found.origin else ""


def _version_in(package: Path) -> str:
    """ "" where the package is not there, or says nothing."""
    try:
        written = VERSION.search((package / "version.py").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    return written[1] if written else ""


def _build_of(version: str) -> str:
    return version.partition("+")[2]


def _go_together(torch: str, library: str) -> bool:
    """Whether a library of this build can be imported; what is not known is tried."""
    if not torch or not library or library == "cpu":
        return True
    for_torch, for_library = CUDA.match(torch), CUDA.match(library)
    if for_torch and for_library:
        return for_torch[1] == for_library[1]
    return torch != "cpu" and bool(for_torch) == bool(for_library)
