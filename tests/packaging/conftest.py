# SPDX-License-Identifier: Apache-2.0
"""The wheel of this checkout, built once a session, and an environment that it is installed in."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Installation:
    """python: of an environment of its own, where the wheel is installed; folder: where nothing of MLHub lies."""

    python: Path
    folder: Path

    def run(self, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs code with neither PYTHONPATH nor the working directory on the path."""
        argv = [str(self.python), "-I", "-c", code, *arguments]
        return subprocess.run(argv, cwd=self.folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip wheel .` makes, without a network: hatchling is pinned in requirements-dev.txt."""
    folder = tmp_path_factory.mktemp("wheel")
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel in an environment of its own, which borrows the packages of the platform's environment."""
    folder = tmp_path_factory.mktemp("installation")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    _pip("--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "platform.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (folder / "elsewhere").mkdir()
    return Installation(python, folder / "elsewhere")


def _pip(*arguments: str) -> None:
    argv = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
