# SPDX-License-Identifier: Apache-2.0
"""What a dry run's outcome depends on besides the job itself: the runtime's code and the packages it runs with."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

MLHUB = Path(__file__).resolve().parents[1]
FOLDERS = ("runtime", "wire")


@cache
def runtime_fingerprint() -> str:
    """The SHA-256, in hex, of the Python version, the installed packages and the content of runtime/ and wire/."""
    found = [package.metadata for package in distributions()]  # read and parsed at each access
    packages = sorted({f"{about['Name']}=={about['Version']}" for about in found})
    digest = hashlib.sha256("\n".join([platform.python_version(), platform.machine(), *packages]).encode())
    for folder in FOLDERS:
        for path in sorted((MLHUB / folder).rglob("*.py")):
            digest.update(f"\n{path.relative_to(MLHUB)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
