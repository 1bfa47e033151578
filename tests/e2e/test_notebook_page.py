# SPDX-License-Identifier: Apache-2.0
"""A notebook as a person uses it in a real browser: from the button on Jobs to the output of a cell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.chromium import ARGUMENTS, CHROMIUM, require_chromium
from tests.platform import PASSWORD, RunningPlatform

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]
PATIENCE_MS = 60_000  # of a busy machine


def test_a_person_starts_a_notebook_and_runs_a_cell(platform: RunningPlatform) -> None:
    require_chromium()
    from playwright.sync_api import expect, sync_playwright

    uma = platform.person("uma", organisation="Browsers of notebooks")
    uma.post("/projects", organisation=uma.organisation["id"], name="pages")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        page: Any = browser.new_page(base_url=platform.url, viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        page.goto("/jobs")
        account, name = page.get_by_role("button", name="I have an account"), page.get_by_label("User name")
        expect(account.or_(name).first).to_be_visible()
        if account.is_visible():  # there is no administrator yet
            account.click()
        name.fill("uma")
        page.get_by_role("textbox", name="Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        page.goto("/jobs")
        page.get_by_role("button", name="New notebook").click()
        dialog = page.get_by_role("dialog", name="New notebook")
        dialog.get_by_label("Name").fill("by hand")
        dialog.get_by_role("button", name="Start").click()
        button = page.get_by_role("button", name="Open notebook")
        expect(button).to_be_enabled()
        with page.expect_popup() as opened:
            button.click()
        lab: Any = opened.value
        lab.set_default_timeout(PATIENCE_MS)
        lab.get_by_title("Python 3 (ipykernel)").first.click()
        cell = lab.locator(".jp-Notebook .jp-Cell .cm-content").first
        cell.click()
        cell.type("6*7")
        expect(lab.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()
        lab.keyboard.press("Shift+Enter")
        expect(lab.locator(".jp-OutputArea-output").first).to_have_text("42")
        assert lab.evaluate("document.cookie.includes('mlhub')") is False
        assert ".notebooks.localhost" in lab.url
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_text("It is paused: resume it to go on with its folder.")).to_be_visible()
        browser.close()
