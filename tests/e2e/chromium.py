# SPDX-License-Identifier: Apache-2.0
"""The browser of these tests."""

from __future__ import annotations

import os
import shutil

import pytest

CHROMIUM = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def require_chromium() -> None:
    """Skips the test where there is no Chromium, but for machines that must have one: there it fails."""
    if CHROMIUM is None:
        if os.environ.get("MLHUB_REQUIRE_BROWSER"):
            pytest.fail("There is no Chromium; run: make browser")
        pytest.skip("There is no Chromium; `make browser` installs it where it may.")
