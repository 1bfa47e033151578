# SPDX-License-Identifier: Apache-2.0
"""Gangs for tests: real trainers as processes, given what a backend would give them; no launchers."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mlhub.embedded.ports import free_port
from mlhub.runtime.data import readers
from mlhub.wire import environment as names
from mlhub.wire.launch import (
    AttemptId,
    DataPlane,
    DatasetSpec,
    Input,
    ModelSpec,
    PodRole,
    PodSpec,
    PredictionSpec,
    SyncMode,
    TrainingSpec,
    further_input,
)
from mlhub.wire.profiles import ProfileRequest
from tests.runtime.processes import PAUSE_AFTER, PAUSED, TrainerProcess

ROOT = Path(__file__).resolve().parents[2]


def write_blobs(path: Path, *, n: int = 60, n_features: int = 6, n_classes: int = 3, seed: int = 0) -> Path:
    """An NPZ of clouds of points, one a class: easy to learn, different for each seed."""
    random = np.random.default_rng(seed)
    centres = random.normal(0, 3, (n_classes, n_features))
    y = random.integers(0, n_classes, n)
    x = (centres[y] + random.normal(0, 0.5, (n, n_features))).astype(np.float32)
    np.savez(path, x=x, y=y)
    return path


@dataclass
class Gang:
    """A job's folder; each start() is an attempt."""

    folder: Path
    dataset: Path
    format: str = "npz"
    filename: str = "data"  # with which the dataset was uploaded
    options: dict[str, Any] = field(default_factory=dict)  # of the reader
    model: ModelSpec = field(default_factory=lambda: ModelSpec(kind="builtin", entry="mlp"))
    package: Path | None = None
    training: TrainingSpec = field(default_factory=lambda: TrainingSpec(epochs=3, batch_size=10))
    data_plane: DataPlane = DataPlane.HMAC
    prediction: PredictionSpec | None = None
    weights_file: Path | None = None  # of model.weights, which is called "weights"
    schema: dict[str, Any] | None = None  # None: what inspection finds
    further: dict[str, Path] = field(default_factory=dict)  # files of further datasets, by the datasets' names
    start_timeout_s: float = 60.0
    environment: dict[str, str] = field(default_factory=dict)  # more variables of every pod
    profile: ProfileRequest | None = None  # as its pods' launchers received it before the trainers began
    is_forked: bool = True  # from a process that has torch imported; False: by a command, as launchers do
    attempt: int = 0
    pause_after: int | None = None
    processes: dict[str, TrainerProcess | subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(
        self,
        mode: SyncMode = SyncMode.ALL_REDUCE,
        *,
        n_workers: int = 1,
        n_servers: int = 0,
        pause_after: int | None = None,
    ) -> None:
        """pause_after: the step after which every worker waits to be asked to leave, by leave_paused()."""
        self.attempt += 1
        self.processes = {}
        self.pause_after = pause_after
        spec = self.spec(mode, n_workers=n_workers, n_servers=n_servers)
        for role, n in ((PodRole.SERVER, n_servers), (PodRole.WORKER, n_workers)):
            for index in range(n):
                self._spawn(replace(spec, role=role, index=index), self._files())

    def spec(self, mode: SyncMode = SyncMode.ALL_REDUCE, *, n_workers: int = 1, n_servers: int = 0) -> PodSpec:
        """Worker 0's."""
        ports = free_ports(1 + n_servers)
        schema = self.schema or readers.inspect(self.format, self.dataset, self.options).schema
        inputs = [_input(name, path) for name, path in self._files().items() if path is not None]
        return PodSpec(
            attempt_id=AttemptId(f"attempt-{self.attempt}"),
            job_id="job",
            attempt_number=self.attempt,
            mode=mode,
            role=PodRole.WORKER,
            index=0,
            n_workers=n_workers,
            n_servers=n_servers,
            master_address=f"127.0.0.1:{ports[0]}",
            server_addresses=tuple(f"127.0.0.1:{p}" for p in ports[1:]),
            inputs=tuple(inputs),
            dataset=DatasetSpec(self.format, (self.filename,), schema),
            model=self.model,
            training=self.training,
            checkpoint_uri=(self.folder / "checkpoints").as_uri(),
            start_timeout_s=self.start_timeout_s,
            worker_addresses=tuple(f"127.0.0.1:{port}" for port in free_ports(n_workers)),
            data_plane=self.data_plane,
            prediction=self.prediction,
        )

    def _files(self) -> dict[str, Path | None]:
        further = {further_input(name, path.name): path for name, path in self.further.items()}
        return {self.filename: self.dataset, "code": self.package, "weights": self.weights_file, **further}

    def start_again(self, name: str) -> str:
        """Another process in the place of one that died, within the same attempt; returns its name."""
        spec = PodSpec.from_json((self.work(name) / "spec.json").read_text())
        self._spawn(spec, self._files(), name=f"{name}-again")
        return f"{name}-again"

    def _spawn(self, spec: PodSpec, inputs: dict[str, Path | None], *, name: str = "") -> None:
        name = name or f"{spec.role}-{spec.index}"
        work = self.work(name)
        work.mkdir(parents=True)
        (work / "spec.json").write_text(spec.to_json())
        (work / "inputs.json").write_text(json.dumps({k: str(v) for k, v in inputs.items() if v is not None}))
        (work / "token").write_text("token")
        (work / "secret").write_text("ab" * 16)
        if self.profile is not None:
            (work / "profiles").mkdir()
            (work / "profiles" / "request.json").write_text(json.dumps(self.profile.to_dict()))
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("MLHUB")},
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            names.SPEC_PATH: str(work / "spec.json"),
            names.TOKEN_PATH: str(work / "token"),
            names.SECRET_PATH: str(work / "secret"),
            names.WORK_DIR: str(work),
            names.API_URL: "http://127.0.0.1:1",
        }
        if spec.role is PodRole.WORKER:
            host, _, port = spec.master_address.rpartition(":")
            environment |= {names.RANK: str(spec.index), names.WORLD_SIZE: str(spec.n_workers)}
            environment |= {names.LOCAL_RANK: "0", names.MASTER_ADDR: host, names.MASTER_PORT: port}
            environment |= {} if self.pause_after is None else {PAUSE_AFTER: str(self.pause_after)}
        environment |= self.environment
        start = TrainerProcess if self.is_forked else _start_command
        self.processes[name] = start(environment, work, work / "output.log")

    def work(self, name: str = "worker-0") -> Path:
        return self.folder / f"attempt-{self.attempt}" / name

    def serving(self, name: str, *, guard: int | None = None) -> int | None:
        """The process that serves, under the guard that starts another in its place; None: there is none."""
        guard = guard or self.processes[name].pid
        with suppress(FileNotFoundError):  # the guard has ended
            found = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
            return next((int(pid) for pid in found), None)
        return None

    def kill_serving(self, name: str, *, guard: int | None = None) -> int:
        """kill -9, once there is one; returns who it was."""
        self.wait_for(lambda: self.serving(name, guard=guard) is not None)
        serving = self.serving(name, guard=guard)
        assert serving is not None
        os.kill(serving, signal.SIGKILL)
        return serving

    def wait(self, *, seconds: float = 300) -> dict[str, int]:
        """Exit codes by pod."""
        until = time.monotonic() + seconds
        try:
            return {name: p.wait(max(0.1, until - time.monotonic())) for name, p in self.processes.items()}
        finally:
            for process in self.processes.values():
                if process.poll() is None:
                    process.kill()
                    process.wait()

    def terminate(self) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)

    def leave_paused(self) -> None:
        """Asks all to leave, once every worker waits after the step of start()."""
        workers = [name for name in self.processes if name.startswith("worker-")]
        self.wait_for(lambda: all((self.work(name) / PAUSED).exists() for name in workers))
        self.terminate()

    def reports(self, kind: str, name: str = "worker-0") -> list[dict[str, Any]]:
        path = self.work(name) / "reports.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines if line.endswith("}")]
        return [report for report in found if report["type"] == kind]

    def wait_for_step(self, step: int, *, seconds: float = 150) -> None:
        self.wait_for(lambda: any(r["steps_done"] >= step for r in self.reports("progress")), seconds=seconds)

    def wait_for(self, is_so: Callable[[], bool], *, seconds: float = 150) -> None:
        """Fails when worker 0 ends first."""
        until = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < until, self.logs()
            assert self.processes["worker-0"].poll() is None, self.logs()
            time.sleep(0.05)

    def logs(self) -> str:
        """What all pods printed, for messages of failed assertions."""
        return "\n".join(
            f"--- {name}\n{(self.work(name) / 'output.log').read_text(errors='replace')[-3000:]}"
            for name in self.processes
        )

    def result(self) -> dict[str, Any]:
        (found,) = self.reports("result")
        return found

    def bytes_sent(self) -> float:
        """By worker 0 a step, on the wire: as the kernel counted, evaluations and barriers included."""
        progress, sent, before = self.reports("progress"), 0.0, 0
        for report in progress:
            sent, before = (
                sent + report["measured"]["bytes_sent"] * (report["steps_done"] - before),
                report["steps_done"],
            )
        return sent / before

    def processor_s(self) -> float:
        """Seconds of processor time of all its processes that have ended by themselves."""
        files = [self.work(name) / "processor_s" for name in self.processes]
        return sum(float(path.read_text()) for path in files if path.exists())

    def weights(self) -> dict[str, Any]:
        from safetensors.numpy import load_file

        return load_file(self.work() / "artifacts" / "weights.safetensors")


def _start_command(environment: dict[str, str], folder: Path, output: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "mlhub.runtime.roles"]
    with output.open("wb") as file:
        return subprocess.Popen(command, env=environment, cwd=folder, stdout=file, stderr=subprocess.STDOUT)


def _input(name: str, path: Path) -> Input:
    return Input(name, hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size, path.as_uri())


def free_ports(n: int) -> list[int]:
    """Different ones; no connection takes one before the gang does."""
    found: set[int] = set()
    while len(found) < n:
        found.add(free_port())
    return list(found)
