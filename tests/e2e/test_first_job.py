# SPDX-License-Identifier: Apache-2.0
"""The first job of docs/guides/first-job.md: an ordinary table, a trained model, a prediction for one row.

With MLHUB_SCREENSHOTS=FOLDER the pictures of the guide are written there (`make pictures`).
"""

from __future__ import annotations

import csv
import io
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.e2e.chromium import ARGUMENTS, CHROMIUM, require_chromium
from tests.e2e.showcase import COLOURS
from tests.platform import PASSWORD, RunningPlatform

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]
PATIENCE_MS = 180_000  # of a busy machine
N_CUSTOMERS = 400


def customers_csv() -> bytes:
    """Customers as shops export them: an id, a date, words, ages that are missing; those who come seldom leave."""
    chance = random.Random(1)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["customer_id", "joined", "city", "age", "visits", "plan", "left"])
    for i in range(N_CUSTOMERS):
        visits, plan = chance.randint(0, 30), chance.choice(["basic", "plus", "pro"])
        joined = f"{chance.randint(1, 28):02}/{chance.randint(1, 12):02}/{chance.randint(2019, 2025)}"
        age = "" if i % 11 == 0 else chance.randint(18, 80)
        leaves = visits < (16 if plan == "basic" else 10)
        city = chance.choice(["Lima", "Oslo", "Rome"])
        writer.writerow([10_000 + i, joined, city, age, visits, plan, "yes" if leaves else "no"])
    return out.getvalue().encode()


@pytest.fixture
def page(platform: RunningPlatform) -> Iterator[Any]:
    require_chromium()
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        opened = browser.new_page(base_url=platform.url, viewport={"width": 1280, "height": 860})
        opened.set_default_timeout(PATIENCE_MS)
        yield opened
        browser.close()


def picture(page: Any, name: str) -> None:
    """Writes a picture of what is seen, where they are wanted."""
    if folder := os.environ.get("MLHUB_SCREENSHOTS"):
        drawn = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
        drawn.quantize(COLOURS).save(Path(folder) / f"{name}.png", optimize=True)


def test_an_ordinary_table_becomes_a_model_that_predicts_one_row(platform: RunningPlatform, page: Any) -> None:
    from playwright.sync_api import expect

    platform.person("root")  # without an administrator the page asks for one first
    person = platform.person("nina", organisation="Shop")
    person.post("/projects", organisation=person.organisation["id"], name="customers")
    page.goto("/sign-in")
    page.get_by_label("User name").fill("nina")
    page.get_by_role("textbox", name="Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="First steps")).to_be_visible()
    expect(page.get_by_text("GPUs free")).to_be_visible()
    picture(page, "home")

    page.get_by_role("link", name="Upload a dataset").click()
    page.get_by_role("button", name="Upload a dataset").first.click()
    page.get_by_label("Data file").set_input_files(
        {"name": "customers.csv", "mimeType": "text/csv", "buffer": customers_csv()}
    )
    picture(page, "upload")
    page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_role("combobox", name="Target column").select_option("left")
    picture(page, "columns")
    page.get_by_role("button", name="Use these columns").click()
    expect(page.get_by_text("Ready", exact=True).first).to_be_visible()

    page.goto("/jobs/new")
    for label, option in (("Dataset", "customers"), ("Model", "mlp")):
        page.get_by_role("combobox", name=label).or_(page.get_by_label(label, exact=False)).first.click()
        page.get_by_role("option", name=re.compile(option)).first.click()
    expect(page.get_by_role("region", name="If you start it now")).to_be_visible()
    picture(page, "new-job")
    page.get_by_role("button", name="Start job").click()
    expect(page.get_by_text("Succeeded", exact=True).first).to_be_visible()
    picture(page, "job")

    page.get_by_role("link", name=re.compile("Try it")).click()
    page.get_by_label("visits").fill("2")
    page.get_by_label("plan").select_option("basic")
    page.get_by_role("button", name="Predict").click()
    answer = page.get_by_role("list", name="Probabilities").get_by_role("listitem")
    expect(answer.first).to_contain_text("yes")
    picture(page, "predict")
