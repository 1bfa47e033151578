# SPDX-License-Identifier: Apache-2.0
"""A script with servers of its own, from upload to result, on the whole platform."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from tests.platform import RunningPlatform, wait
from tests.runtime.gang import write_blobs

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

SCRIPT = """
import json, os
from pathlib import Path

import torch
from safetensors.torch import save_file
from mlhub.runtime import finish, report
from mlhub.runtime.compat import kv, tables

store = kv.create("dist_sync")
store.init("w", torch.zeros(4))
store.set_optimizer(kv.optimizer("ftrl", learning_rate=0.5, l1=0.01, rescale_grad=1 / store.num_workers))
wanted = torch.tensor([1.0, -2.0, 0.0, 3.0])
weights = torch.zeros(4)
for step in range(1, 101):
    store.push("w", 2 * (weights - wanted))
    store.pull("w", out=weights)
    report(step, total_steps=100, loss=float((weights - wanted).norm()))
seen = tables.table("seen", (None,), dtype=torch.int64, staleness=1)
seen.add([store.rank, 7], torch.tensor([1, 1]))
seen.clock()
tables.barrier()
save_file({"w": weights}, "w.safetensors")
finish(step=100, weights="w.safetensors", metrics={
    "eval/error": float((weights - wanted).abs().max()), "eval/servers": float(os.environ["DMLC_NUM_SERVER"]),
    "eval/seen": float(seen.get([7]).item()), "eval/workers": float(store.num_workers)})
"""


def test_a_script_trains_on_server_pods_of_its_own(platform: RunningPlatform, tmp_path: Path) -> None:
    bob = platform.person("bob", organisation="Scripts")
    project = bob.post("/projects", organisation=bob.organisation["id"], name="p")
    blobs = write_blobs(tmp_path / "blobs.npz").read_bytes()
    dataset = bob.upload("/datasets", "blobs.npz", blobs, name="blobs", project=project["id"])
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("train.py", SCRIPT)
    asked = {"name": "kv", "project": project["id"], "kind": "script", "entry": "train.py"}
    model = bob.upload("/models", "code.zip", package.getvalue(), **asked)
    bob.wait_ready(f"/datasets/{dataset['id']}")
    bob.wait_ready(f"/models/{model['id']}")
    job = bob.post(
        "/jobs", dataset=dataset["id"], model=model["id"], epochs=1, batch_size=8, min_workers=2, max_workers=2,
        mode="parameter_server", resources={"n_servers": 2},
    )  # fmt: skip
    wait(
        lambda: bob.get(f"/jobs/{job['id']}")["state"] in ("succeeded", "failed"),
        seconds=300,
        message=platform.logs(),
    )
    ended = bob.get(f"/jobs/{job['id']}")
    assert ended["state"] == "succeeded", ended
    (attempt,) = ended["attempts"]
    assert (attempt["mode"], attempt["n_workers"], attempt["n_servers"]) == ("parameter_server", 2, 2)
    result = ended["result_metrics"]
    assert result["eval/error"] < 0.1, result
    assert (result["eval/servers"], result["eval/workers"], result["eval/seen"]) == (2.0, 2.0, 2.0)
