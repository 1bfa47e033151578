# SPDX-License-Identifier: Apache-2.0
"""Runs scripts on a platform as a user does: upload the folder, name the entry, look at what came of it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load

from mlhub.demo.client import Person
from tests.platform import RunningPlatform, wait
from tests.runtime.gang import write_blobs
from tests.scripts.catalogue import Script


@dataclass(frozen=True)
class Outcome:
    """faults: what was not as the catalogue wants it; empty when the script passed."""

    script: Script
    faults: tuple[str, ...]


def run_all(
    platform: RunningPlatform, person: Person, scripts: tuple[Script, ...], *, folder: Path, seconds: float
) -> list[Outcome]:
    """All at once, as far as the platform has room for them."""
    project = person.post("/projects", organisation=person.organisation["id"], name="scripts")
    blobs = write_blobs(folder / "blobs.npz").read_bytes()
    dataset = person.upload("/datasets", "blobs.npz", blobs, name="blobs", project=project["id"])
    person.wait_ready(f"/datasets/{dataset['id']}")
    jobs = [(script, _submit(person, script, project=project["id"], dataset=dataset["id"])) for script in scripts]
    for _, job_id in jobs:
        wait(
            lambda job_id=job_id: person.get(f"/jobs/{job_id}")["state"] in ("succeeded", "failed"),
            seconds=seconds,
            message=platform.logs(),
        )
    return [Outcome(script, tuple(faults_of(person, script, job_id))) for script, job_id in jobs]


def _submit(person: Person, script: Script, *, project: str, dataset: str) -> str:
    asked = {"name": script.name, "project": project, "kind": "script", "entry": script.entry}
    model = person.upload("/models", "code.zip", script.package(), **asked)
    person.wait_ready(f"/models/{model['id']}", seconds=600)  # its environment is built, too
    job = person.post(
        "/jobs", dataset=dataset, model=model["id"], name=script.name, epochs=script.epochs, batch_size=8,
        hyperparameters=dict(script.hyperparameters), min_workers=script.n_workers, max_workers=script.n_workers,
    )  # fmt: skip
    return str(job["id"])


def faults_of(person: Person, script: Script, job_id: str) -> list[str]:
    """What is missing of what the script reported, wrote and trained."""
    job = person.get(f"/jobs/{job_id}")
    if job["state"] != "succeeded":
        failure: dict[str, Any] = job["failure"] or {}
        return [f"it {job['state']}: {failure.get('message')}"]
    found = job["result_metrics"]
    faults = [
        f"metric {name} is {found.get(name)}"
        for name, value in script.metrics.items()
        if name not in found or (value is not None and not math.isclose(value, found[name], rel_tol=1e-6))
    ]
    names = {file["name"] for file in person.get(f"/jobs/{job_id}/artifacts")}
    faults += [f"file {name} is missing" for name in script.files if f"output/{name}" not in names]
    n_checkpoints = len(person.get(f"/jobs/{job_id}/checkpoints"))
    if n_checkpoints < script.n_checkpoints:
        faults.append(f"{n_checkpoints} checkpoints are listed")
    if job["result_version"] is None:
        return [*faults, "there is no model version"]
    address = f"/model-versions/{job['result_version']}/download"
    weights = load(person.download(address, what="weights"))
    described = str(json.loads(person.download(address, what="metadata")).get("model_class", ""))
    if not described.startswith(script.model_class):
        faults.append(f"the model is called {described!r}")
    return faults if set(weights) == set(script.weights) else [*faults, f"the weights are {sorted(weights)}"]
