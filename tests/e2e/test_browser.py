# SPDX-License-Identifier: Apache-2.0
"""The main job as a person does it in a real browser, on the whole platform."""

from __future__ import annotations

import csv
import io
import random
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from tests.e2e.chromium import violations
from tests.e2e.passkeys import walk_passkeys
from tests.platform import PASSWORD, RunningPlatform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]
MODEL = """
import time

import torch

class WaitingReLU(torch.nn.ReLU):  # for a GPU that is elsewhere, as it were: the test's processors are for the browser
    def forward(self, inputs):
        time.sleep(0.02)
        return super().forward(inputs)

def build_model(hyperparameters):
    n_inputs = hyperparameters["input_shape"][0]
    return torch.nn.Sequential(
        torch.nn.Linear(n_inputs, 32), WaitingReLU(), torch.nn.Linear(32, hyperparameters["n_classes"])
    )
"""


def points_csv() -> bytes:
    """Two clouds of points in the plane, and which one each is of."""
    chance = random.Random(0)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["width", "height", "kind"])
    for i in range(1500):
        kind = i % 2
        writer.writerow([round(chance.gauss(3 * kind, 1), 3), round(chance.gauss(-2 * kind, 1), 3), f"k{kind}"])
    return out.getvalue().encode()


def model_zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("model.py", MODEL)
    return out.getvalue()


def choose(page: Any, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label).or_(page.get_by_label(label, exact=False)).first.click()
    page.get_by_role("option", name=re.compile(option)).first.click()


def start_job(page: Any, *, epochs: int, name: str) -> None:
    page.goto("/jobs/new")
    choose(page, "Dataset", "points")
    choose(page, "Model", "little-net")
    page.get_by_label("Epochs").fill(str(epochs))
    page.get_by_label("Batch size").fill("16")
    page.get_by_role("button", name="Advanced settings").click()
    page.get_by_role("textbox", name="Name").fill(name)
    page.get_by_role("button", name="Start job").click()
    page.get_by_role("heading", name=name).wait_for()


def test_sign_in_upload_train_watch_cancel_and_download(platform: RunningPlatform, page: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    person = platform.person("alice", organisation="A")
    person.post("/projects", organisation=person.organisation["id"], name="vision")

    page.goto("/")
    page.get_by_role("button", name="I have an account").click()  # there is no administrator yet
    page.get_by_label("User name").fill("alice")
    page.get_by_role("textbox", name="Password").fill("wrong")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_role("textbox", name="Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()

    page.goto("/datasets")
    page.get_by_role("button", name="Upload a dataset").first.click()
    page.get_by_label("Data file").set_input_files(
        {"name": "points.csv", "mimeType": "text/csv", "buffer": points_csv()}
    )
    page.get_by_role("textbox", name="Name").fill("points")
    page.get_by_label("Target column").fill("kind")
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.get_by_text("Ready", exact=True).first).to_be_visible()

    page.goto("/models")
    page.get_by_role("button", name="Upload a model").first.click()
    page.get_by_label("Code file").set_input_files(
        {"name": "net.zip", "mimeType": "application/zip", "buffer": model_zip()}
    )
    page.get_by_role("textbox", name="Name").fill("little-net")
    page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_role("heading", name="little-net").wait_for()  # in the list are models that are ready before
    expect(page.get_by_text("Ready", exact=True).first).to_be_visible()

    start_job(page, epochs=20_000, name="endless")
    page.get_by_role("link", name="Metrics", exact=True).click()
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="train/loss"))
    expect(row).to_be_visible(timeout=180_000)
    step = row.get_by_role("cell").nth(1)
    seen = step.inner_text()
    expect(step).not_to_have_text(seen)  # the curve moves, without a reload
    page.get_by_role("button", name="Cancel job").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    expect(page.get_by_text("Cancelled", exact=True).first).to_be_visible()

    start_job(page, epochs=2, name="short")
    expect(page.get_by_text("Succeeded", exact=True).first).to_be_visible(timeout=180_000)
    with page.expect_download() as started:
        page.get_by_role("link", name=re.compile("weights", re.I)).first.click()
    started.value.save_as(tmp_path / "weights.safetensors")
    weights = load_file(tmp_path / "weights.safetensors")
    assert {name: w.shape for name, w in weights.items()} == {
        "0.weight": (32, 2), "0.bias": (32,), "2.weight": (2, 32), "2.bias": (2,),
    }  # fmt: skip


PAGES = ["/", "/jobs", "/compare", "/jobs/new", "/datasets", "/models", "/queue", "/scheduler", "/cluster", "/quotas",
         "/usage", "/members", "/users", "/account", "/audit", "/tokens", "/nowhere"]  # fmt: skip
STYLE = "document.head.append(Object.assign(document.createElement('style'), {textContent: 'body { color: red }'}))"
SCRIPT = "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.injected = 1'}))"


@pytest.mark.slow
def test_every_page_works_within_its_content_security_policy(platform: RunningPlatform, page: Any) -> None:
    from playwright.sync_api import expect

    root = platform.person("root")
    root.post("/organisations", name="B")
    page.goto("/sign-in")
    page.get_by_label("User name").fill("root")
    page.get_by_role("textbox", name="Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    for address in PAGES:
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        # the components' own <style> elements apply: they carry the page's nonce
        assert page.evaluate("getComputedStyle(document.body).getPropertyValue('--mantine-color-body')"), address
    # a dialog locks scrolling by a <style> of its own
    page.goto("/datasets")
    page.get_by_role("button", name="Upload a dataset").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.goto("/api/v1/docs")
    # of so many operations those in view are drawn
    expect(page.get_by_text("/api/v1/auth/csrf", exact=True).first).to_be_visible()
    page.goto("/admin/")
    expect(page.get_by_role("heading", name="Site administration")).to_be_visible()
    walk_passkeys(page, platform)


def test_the_policy_stops_scripts_and_styles_that_are_not_the_page_s_own(platform: RunningPlatform, page: Any) -> None:
    seen: list[str] = []
    page.remove_listener("console", page.complaints_listener)
    page.on("console", lambda message: seen.extend(violations(message.text)))
    page.goto("/sign-in")
    page.evaluate(STYLE)
    page.evaluate(SCRIPT)
    assert page.evaluate("window.injected") is None
    assert page.evaluate("getComputedStyle(document.body).color") != "rgb(255, 0, 0)"
    assert len(seen) == 2
