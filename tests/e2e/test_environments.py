# SPDX-License-Identifier: Apache-2.0
"""Code that brings requirements.txt trains with the packages that it names, on the whole platform."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.datasets.files import zipped
from tests.platform import RunningPlatform, wait
from tests.runtime.gang import write_blobs

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

SCRIPT = b"""
import greeting
import torch
from safetensors.torch import save_file
from mlhub.runtime import finish

save_file({"w": torch.zeros(1)}, "w.safetensors")
finish(step=1, weights="w.safetensors", metrics={"eval/words": float(len(greeting.WORDS))})
"""
PACKAGE = b"""
import os

import greeting
import torch

def build_model(h):
    assert os.environ["FLAVOUR"] == "plain"
    assert greeting.WORDS == "hello world"
    return torch.nn.Linear(h["input_shape"][0], h["n_classes"])
"""


def ended(platform: RunningPlatform, person: Any, job: dict[str, Any]) -> dict[str, Any]:
    states = ("succeeded", "failed")
    wait(lambda: person.get(f"/jobs/{job['id']}")["state"] in states, seconds=300, message=platform.logs())
    found: dict[str, Any] = person.get(f"/jobs/{job['id']}")
    return found


def test_a_script_and_a_package_import_what_their_requirements_name(platform: RunningPlatform, tmp_path: Path) -> None:
    erin = platform.person("erin", organisation="Environments")
    project = erin.post("/projects", organisation=erin.organisation["id"], name="p")
    blobs = write_blobs(tmp_path / "blobs.npz").read_bytes()
    dataset = erin.upload("/datasets", "blobs.npz", blobs, name="blobs", project=project["id"])
    files = {"requirements.txt": b"greeting==1.0\n"}
    script = erin.upload(
        "/models", "s.zip", zipped(files | {"train.py": SCRIPT}),
        name="script", project=project["id"], kind="script", entry="train.py",
    )  # fmt: skip
    package = erin.upload(
        "/models", "m.zip", zipped(files | {"model.py": PACKAGE}), name="package", project=project["id"]
    )
    erin.wait_ready(f"/datasets/{dataset['id']}")
    for model in (script, package):
        erin.wait_ready(f"/models/{model['id']}")
    size = {"epochs": 1, "batch_size": 8, "max_workers": 1, "environment": {"FLAVOUR": "plain"}}
    jobs = [erin.post("/jobs", dataset=dataset["id"], model=model["id"], **size) for model in (script, package)]
    of_script, of_package = (ended(platform, erin, job) for job in jobs)
    assert of_script["state"] == "succeeded", of_script["failure"]
    assert of_script["result_metrics"]["eval/words"] == len("hello world")
    assert of_package["state"] == "succeeded", of_package["failure"]
