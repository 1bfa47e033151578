# SPDX-License-Identifier: Apache-2.0
"""One platform for all tests of this folder: each works in an organisation of its own. A browser on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.chromium import ARGUMENTS, CHROMIUM, require_chromium, violations
from tests.environments.wheels import write_wheelhouse
from tests.platform import RunningPlatform, running

PATIENCE_MS = 180_000  # of a busy machine


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPlatform]:
    """The platform; its packages come from a folder of tiny wheels."""
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("MLHUB_WHEELHOUSE", str(write_wheelhouse(tmp_path_factory.mktemp("wheelhouse"))))
        with running(tmp_path_factory.mktemp("e2e")) as found:
            yield found


@pytest.fixture
def page(platform: RunningPlatform) -> Iterator[Any]:
    require_chromium()
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        opened = browser.new_page(base_url=platform.url, viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(PATIENCE_MS)
        complaints: list[str] = []
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.complaints_listener = lambda message: complaints.extend(violations(message.text))
        opened.on("console", opened.complaints_listener)
        yield opened
        assert not complaints
        browser.close()
