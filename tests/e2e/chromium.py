# SPDX-License-Identifier: Apache-2.0
"""The browser of these tests."""

from __future__ import annotations

import os
import shutil

import pytest

# the shell first: without windows to draw it takes a sixth less of a processor for the same pages
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=slight",  # as with windows: pictures are the same in both
]


def require_chromium() -> None:
    """Skips the test where there is no Chromium, but for machines that must have one: there it fails."""
    if CHROMIUM is None:
        if os.environ.get("MLHUB_REQUIRE_BROWSER"):
            pytest.fail("There is no Chromium; run: make browser")
        pytest.skip("There is no Chromium; `make browser` installs it where it may.")


def violations(text: str) -> list[str]:
    """The text, when it is Chromium's complaint that a page broke its Content-Security-Policy."""
    return [text] if "Content Security Policy" in text else []
