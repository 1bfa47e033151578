# SPDX-License-Identifier: Apache-2.0
"""A wheelhouse of tiny wheels: no test reaches the internet."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_wheel(
    folder: Path, name: str, version: str, modules: Mapping[str, str], *, requires: Sequence[str] = ()
) -> Path:
    """Writes a pure-Python wheel with these modules."""
    folder.mkdir(parents=True, exist_ok=True)
    described = f"{name}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {line}\n" for line in requires)
    files = {
        **modules,
        f"{described}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}",
        f"{described}/WHEEL": WHEEL,
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text.encode())}\n" for path, text in files.items())
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{described}/RECORD": f"{record}{described}/RECORD,,\n"}.items():
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), text)
    return wheel


def write_wheelhouse(folder: Path) -> Path:
    """greeting 1.0, which requires wording, NumPy and torch; wording 1.0 and 2.0; an old NumPy."""
    write_wheel(
        folder, "greeting", "1.0", {"greeting.py": "import wording\nWORDS = f'hello {wording.WORD}'\n"},
        requires=["wording>=1", "numpy", "torch"],
    )  # fmt: skip
    for version, word in (("1.0", "old"), ("2.0", "world")):
        write_wheel(folder, "wording", version, {"wording.py": f"WORD = {word!r}\n"})
    write_wheel(folder, "clash", "1.0", {"clash.py": ""}, requires=["wording<2", "greeting", "wording>=2"])
    write_wheel(folder, "numpy", "1.0", {"numpy/__init__.py": "__version__ = '1.0'\n"})
    return folder


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
