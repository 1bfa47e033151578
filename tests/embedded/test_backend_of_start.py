# SPDX-License-Identifier: Apache-2.0
"""Commands that reach a running platform have the backend with which it was started, whatever their shell says."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlhub.embedded.__main__ import variables_of
from mlhub.embedded.home import Home, Platform

PLATFORM = Platform("http://127.0.0.1:1", "postgresql://x", "redis://x", {})


@pytest.mark.parametrize("in_shell", [None, "local", "agents"])
def test_the_backend_is_that_of_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_shell: str | None
) -> None:
    home = Home(tmp_path)
    monkeypatch.delenv("MLHUB_BACKEND", raising=False)
    if in_shell is not None:
        monkeypatch.setenv("MLHUB_BACKEND", in_shell)
    assert variables_of(home, PLATFORM).get("MLHUB_BACKEND") == in_shell
    for started_with in ("agents", "local"):
        home.note_backend(started_with)
        assert variables_of(home, PLATFORM)["MLHUB_BACKEND"] == started_with
