# SPDX-License-Identifier: Apache-2.0
"""The platform's own packages, which every pod has: a layer builds on them, and does not contain them again.

They are the runtime's requirements with all that these require in turn. Their versions are constraints of every build,
except of what the user pins to another exact version ("the lock decides"): then that package, and what it requires, is
the user's choice.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

VERSION = 3  # of the form of layers, and of what a build checks: a change builds every environment anew
ROOTS = (
    "torch", "numpy", "cryptography", "h5py", "pillow", "protobuf", "pyarrow", "pyseccomp", "safetensors",
    "soundfile", "tensorboard", "typing-extensions", "packaging",
)  # fmt: skip
METADATA, RECORD, INSTALLER = "METADATA", "RECORD", "INSTALLER"


@cache
def base_packages() -> Mapping[str, str]:
    """Versions of the platform's own packages by their normalised names, as they are installed here."""
    return {name: distribution(name).version for name in _closure(ROOTS)}


def python_version() -> str:
    return platform.python_version()


def key_of(requirements: Sequence[str]) -> str:
    """The SHA-256, in hex, of all that a layer depends on. Only the first two numbers of Python's version count."""
    python = ".".join(platform.python_version_tuple()[:2])
    content = [VERSION, sorted(requirements), sorted(base_packages().items()), python, sysconfig.get_platform()]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def constraints_for(requirements: Sequence[str]) -> list[str]:
    """Lines such as numpy==2.4.6 of the packages that must stay as they are."""
    base = base_packages()
    pinned = [name for name, found in map(_named, requirements) if name in base and _is_other_pin(found, base[name])]
    free = set(pinned) | _closure(pinned)
    return [f"{name}=={version}" for name, version in sorted(base.items()) if name not in free]


def seed(folder: Path) -> list[Path]:
    """Writes into the folder the bare metadata of the platform's packages, so that the installer takes them as
    installed. Returns the folders of metadata that it made."""
    made = []
    for name, version in base_packages().items():
        entry = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        entry.mkdir()
        (entry / METADATA).write_text(distribution(name).read_text(METADATA) or "", encoding="utf-8")
        (entry / INSTALLER).write_text("mlhub\n")
        listed = (METADATA, INSTALLER, RECORD)
        (entry / RECORD).write_text("".join(f"{entry.name}/{part},,\n" for part in listed))
        made.append(entry)
    return made


def _named(line: str) -> tuple[str, Requirement]:
    found = Requirement(line)
    return canonicalize_name(found.name), found


def _is_other_pin(found: Requirement, version: str) -> bool:
    is_pin = any(part.operator in ("==", "===") and "*" not in part.version for part in found.specifier)
    return is_pin and not found.specifier.contains(version, prereleases=True)


def _closure(names: Sequence[str]) -> set[str]:
    """The packages of these names that are installed here, with all that they require on this machine."""
    found: set[str] = set()
    waiting: list[str] = [canonicalize_name(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in found or not _is_installed(name):
            continue
        found.add(name)
        waiting += _required(name)
    return found


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _required(name: str) -> Iterator[str]:
    for line in distribution(name).requires or ():
        found = Requirement(line)
        if found.marker is None or found.marker.evaluate({"extra": ""}):
            yield canonicalize_name(found.name)
