# SPDX-License-Identifier: Apache-2.0
"""A folder of pictures is dropped on the page; its upload goes on after a reload, and becomes a dataset."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.e2e.chromium import ARGUMENTS, CHROMIUM, require_chromium
from tests.platform import PASSWORD, RunningPlatform

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]
PATIENCE_MS = 180_000  # of a busy machine
N_OF_CLASS = 130  # of two: more than a call to read a folder gives
SIDE = 120  # pixels of noise: two pieces in all


@pytest.fixture
def page(platform: RunningPlatform) -> Iterator[Any]:
    require_chromium()
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        opened = browser.new_page(base_url=platform.url, viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(PATIENCE_MS)
        yield opened
        browser.close()


def write_pictures(folder: Path) -> Path:
    draw = random.Random(16)
    for name in ("cats", "dogs"):
        (folder / name).mkdir(parents=True)
        for i in range(N_OF_CLASS):
            noise = Image.frombytes("RGB", (SIDE, SIDE), draw.randbytes(3 * SIDE * SIDE))
            noise.save(folder / name / f"{i} ü.png")
    (folder / ".hidden").write_text("left out")
    return folder


def drop(page: Any, folder: Path) -> None:
    """As a person drags it from the desktop: the page finds the folder itself."""
    words = page.get_by_text("Drop a file or a folder here, or choose it.")
    words.hover(trial=True)  # waits until its place is stable: the dialogue moves as it opens
    place = words.bounding_box()
    at = {"x": place["x"] + place["width"] / 2, "y": place["y"] + place["height"] / 2}
    dragged = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, **at, "data": dragged})


def sign_in(page: Any) -> None:
    """By the API: the page to sign in at differs while there is no administrator yet."""
    page.request.get("/api/v1/auth/csrf")
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    given = {"username": "fay", "password": PASSWORD}
    assert page.request.post("/api/v1/auth/login", data=given, headers={"X-CSRFToken": token}).ok


def open_dialogue(page: Any) -> None:
    from playwright.sync_api import expect

    page.goto("/datasets")
    page.get_by_role("button", name="Upload a dataset").click()
    # what comes late moves what is below it
    expect(page.get_by_role("combobox", name="Project")).to_have_value(re.compile(".+"))


def test_a_folder_is_dropped_and_its_upload_goes_on_after_a_reload(
    platform: RunningPlatform, page: Any, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    folder = write_pictures(tmp_path / "pictures")
    fay = platform.person("fay", organisation="Folders")
    fay.post("/projects", organisation=fay.organisation["id"], name="vision")
    sign_in(page)

    def pass_the_first(route: Any) -> None:
        if route.request.headers.get("upload-offset", "0") == "0":
            route.continue_()
        else:
            route.abort()

    page.route("**/api/v1/uploads/*", pass_the_first)
    open_dialogue(page)
    drop(page, folder)
    expect(page.get_by_text("pictures.zip")).to_be_visible()
    with page.expect_event("requestfailed", lambda one: one.method == "PATCH"):
        page.get_by_role("button", name="Upload", exact=True).click()
    open_dialogue(page)
    page.unroute("**/api/v1/uploads/*")

    expect(page.get_by_text("Choose the same file or folder again to go on.")).to_be_visible()
    drop(page, folder)
    with page.expect_request(lambda one: one.method == "PATCH") as sent:
        page.get_by_role("button", name="Upload", exact=True).click()
    assert sent.value.headers["upload-offset"] == str(8 * 2**20)
    expect(page.get_by_role("heading", name="pictures")).to_be_visible()

    dataset = fay.named("/datasets", "pictures")
    assert dataset is not None
    version = fay.wait_ready(f"/datasets/{dataset['id']}")["latest_version"]
    assert version["schema"]["n_examples"] == 2 * N_OF_CLASS
    assert version["schema"]["classes"] == ["cats", "dogs"]
    assert fay.get("/uploads")["results"] == []
