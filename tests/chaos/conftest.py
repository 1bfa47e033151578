# SPDX-License-Identifier: Apache-2.0
"""A whole platform for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform import RunningPlatform


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[RunningPlatform]:
    tmp_path.chmod(0o755)
    found = RunningPlatform(tmp_path / "home")
    try:
        found.start()
        yield found
    finally:  # also when it did not come up
        found.end()
