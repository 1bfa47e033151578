# SPDX-License-Identifier: Apache-2.0
"""What the pods are given is enough to train: their own commands, environment and files, run as processes here."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs import manifests
from mlhub.runtime.data import readers
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import DatasetSpec, Input, LaunchSpec, TrainingSpec
from tests.backends.specs import gang
from tests.runtime.gang import ROOT, free_ports, write_blobs
from tests.runtime.launcher.ingest_server import Handler, Ingest

pytestmark = [pytest.mark.dist, pytest.mark.slow]
OPTIONS = KubernetesOptions()


@pytest.fixture
def ingest(tmp_path: Path) -> Iterator[Ingest]:
    """The ingest API with one blob, which it gives to no one without the attempt's token."""
    found = Ingest()
    blob = write_blobs(tmp_path / "blob.npz").read_bytes()

    class WithBlob(Handler):
        ingest = found

        def do_GET(self) -> None:  # noqa: N802
            is_ours = self.headers["Authorization"] == "Bearer attempt-token" and self.path.endswith(_sha256(blob))
            self.send_response(200 if is_ours else 404)
            self.end_headers()
            self.wfile.write(blob if is_ours else b"")

    server = ThreadingHTTPServer(("127.0.0.1", 0), WithBlob)
    found.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


def test_pods_of_a_gang_fetch_meet_and_train(ingest: Ingest, tmp_path: Path) -> None:
    blob = tmp_path / "blob.npz"
    spec = replace(
        gang(workers=2),
        inputs=(Input("data", _sha256(blob.read_bytes()), blob.stat().st_size, blob.as_uri()),),
        dataset=DatasetSpec("npz", ("data",), readers.inspect("npz", blob, {}).schema),
        training=TrainingSpec(epochs=40, batch_size=10, checkpoint_every_s=0.01),
        api_url=ingest.url,
    )
    pods = laid_out(spec, tmp_path)
    deleted, ingest.deleted_inputs = tmp_path / "inputs" / ("0" * 64), ["0" * 64]
    deleted.write_bytes(b"of a dataset that was deleted")
    os.utime(deleted, (0, 0))
    assert run(pods, "initContainers") == [ExitCode.DONE] * 2
    cached = [p.name for p in (tmp_path / "inputs").iterdir()]
    assert cached == [spec.inputs[0].sha256]
    assert run(pods, "containers") == [ExitCode.DONE] * 2, [pod_logs(pod) for pod, _ in pods]
    kinds = {line["type"] for line in ingest.streams["reports"]}
    assert {"phase", "metrics", "result"} <= kinds
    assert "weights.safetensors" in ingest.artifacts
    assert list((tmp_path / "checkpoints" / spec.job_id).iterdir())


def laid_out(spec: LaunchSpec, folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """A folder for each pod, with its volumes' files; volumes that the project shares are shared here."""
    where = names.gang_of(spec, prefix="mlhub")
    files = {name: base64.b64decode(text) for name, text in manifests.secret(spec, where, OPTIONS)["data"].items()}
    here = _loopback(json.loads(files["addresses.json"]))
    pods = []
    for placement in spec.pods:
        pod = manifests.pod(spec, placement, where, OPTIONS)
        own = folder / pod["metadata"]["name"]
        for name in ("scratch", "gang", "secrets", "tmp"):
            (own / name).mkdir(parents=True)
        for name in ("inputs", "checkpoints"):
            (folder / name).mkdir(exist_ok=True)
            (own / name).symlink_to(folder / name)
        (folder / "checkpoints" / spec.job_id).mkdir(exist_ok=True)  # the sub-path that is mounted
        for volume in (volume for volume in pod["spec"]["volumes"] if "secret" in volume):
            for item in volume["secret"]["items"]:
                text = _moved(files[item["key"]].decode(), own, here)
                (own / volume["name"] / item["path"]).write_text(text)
        pods.append((own, json.loads(_moved(json.dumps(pod["spec"]), own, here))))
    return pods


def run(pods: list[tuple[Path, dict[str, Any]]], which: str) -> list[int]:
    """The exit codes of that container of every pod, all started together."""
    started = []
    for own, spec in pods:
        container = spec[which][0]
        variables = {e["name"]: e["value"] for e in container["env"]}
        if "MASTER_PORT" in variables:
            address = json.loads((own / "gang" / "addresses.json").read_text())["master"]
            variables["MASTER_ADDR"], _, variables["MASTER_PORT"] = address.rpartition(":")
        variables |= {
            "PYTHONPATH": str(ROOT),
            "PATH": "/usr/bin:/bin",
            "GLOO_SOCKET_IFNAME": "lo",
            "TMPDIR": str(own / "tmp"),
        }
        with (own / f"{which}.log").open("wb") as log:
            argv = [sys.executable, *container["command"][1:]]
            started.append(subprocess.Popen(argv, env=variables, cwd=own / "scratch", stdout=log, stderr=log))
    return [process.wait(timeout=600) for process in started]


def pod_logs(pod: Path) -> str:
    return "\n".join(path.read_text()[-2000:] for path in [*pod.glob("*.log"), *pod.glob("scratch/*.log")])


def _loopback(addresses: dict[str, Any]) -> dict[str, str]:
    """Names in the cluster to addresses of this machine."""
    given = [addresses["master"], *addresses["servers"], *addresses["members"].values()]
    return dict(zip(given, (f"127.0.0.1:{port}" for port in free_ports(len(given))), strict=True))


def _moved(text: str, own: Path, here: dict[str, str]) -> str:
    for there, address in here.items():
        text = text.replace(there, address)
    return text.replace("/mlhub/", f"{own}/")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
