# SPDX-License-Identifier: Apache-2.0
"""What a training measures of itself: noise of the gradient, staleness, traffic, waiting, the GPU, its heartbeat."""

from __future__ import annotations

import ctypes
import math
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mlhub.runtime import heartbeat
from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.optimization.gradient_noise import (
    GradientNoiseEstimator,
    LocalNoiseEstimator,
    NoiseSample,
    NoiseScale,
)
from mlhub.runtime.usage.gpu import Gpu, GpuUse
from mlhub.runtime.usage.network import Traffic
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import SyncMode, TrainingSpec
from mlhub.wire.report import STEP_TIMES_PHASE
from tests.runtime.gang import Gang, write_blobs

DIMENSIONS, BATCH = 400, 32
TRUE = 20.0  # examples: trace of the covariance over the gradient's square


def gradient(random: torch.Generator, n_examples: int) -> torch.Tensor:
    """The mean of so many examples' gradients, whose noise scale is TRUE."""
    noise = torch.randn(DIMENSIONS, generator=random) / math.sqrt(n_examples)
    return torch.full((DIMENSIONS,), 1 / math.sqrt(TRUE)) + noise


def test_two_steps_after_each_other_give_the_noise_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.runtime.optimization.gradient_noise.MIN_PAUSE_S", 0.0)
    monkeypatch.setattr("mlhub.runtime.optimization.gradient_noise.MAX_COST", 1e9)
    random, local_noise, scale = torch.Generator().manual_seed(1), LocalNoiseEstimator(), NoiseScale()
    for _ in range(200):
        local_noise.observe([gradient(random, BATCH)], weight=1.0, is_first=True, is_last=True)
        if (sample := local_noise.pop_sample()) is not None:
            scale.add(sample)
    assert scale.value(batch_size=BATCH) == pytest.approx(TRUE, rel=0.2)


def test_a_micro_batch_against_the_batch_gives_the_noise_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.runtime.optimization.gradient_noise.MIN_PAUSE_S", 0.0)
    monkeypatch.setattr("mlhub.runtime.optimization.gradient_noise.MAX_COST", 1e9)
    random, local_noise, scale = torch.Generator().manual_seed(2), LocalNoiseEstimator(), NoiseScale()
    for _ in range(200):
        summed = torch.zeros(DIMENSIONS)
        for micro in range(4):  # a worker's half of the batch in four parts, gradients times 2 as under averaging
            summed += 2 * gradient(random, BATCH // 8) / 8
            local_noise.observe([summed], weight=(micro + 1) / 8, scale=2.0, is_first=micro == 0, is_last=micro == 3)
        if (sample := local_noise.pop_sample()) is not None:
            scale.add(sample)
    assert scale.value(batch_size=BATCH) == pytest.approx(TRUE, rel=0.2)


def test_workers_against_their_mean_give_the_noise_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.runtime.optimization.gradient_noise.MIN_PAUSE_S", 0.0)
    monkeypatch.setattr("mlhub.runtime.optimization.gradient_noise.MAX_COST", 1e9)
    random, scale = torch.Generator().manual_seed(3), NoiseScale()
    estimators = [GradientNoiseEstimator(4) for _ in range(4)]
    for _ in range(200):
        gradients = [gradient(random, BATCH // 4) for _ in estimators]
        mean = torch.stack(gradients).mean(0)
        for noise_estimator, own in zip(estimators, gradients, strict=True):
            assert noise_estimator.is_due
            noise_estimator.observe_local(own[:100])
            noise_estimator.observe_local(own[100:])
            noise_estimator.observe_mean([mean[:50], None, mean[50:]])
        summed = [sum(column) for column in zip(*(own.partial_sums() for own in estimators), strict=True)]
        for noise_estimator in estimators:
            noise_estimator.combine(summed, elapsed_s=1.0)
            noise_estimator.combine([0.0, 0.0], elapsed_s=1.0)
        samples = {noise_estimator.pop_sample() for noise_estimator in estimators}
        assert len(samples) == 1, "all workers must come to the same"
        scale.add(samples.pop())
    assert scale.value(batch_size=BATCH) == pytest.approx(TRUE, rel=0.2)


def test_noise_is_looked_at_seldom_where_looking_is_dear() -> None:
    local_noise, noise_estimator = LocalNoiseEstimator(), GradientNoiseEstimator(2)
    for _ in range(2):
        local_noise.observe([torch.ones(3)], weight=1.0, is_first=True, is_last=True)
    assert local_noise.pop_sample() is not None
    local_noise.observe([torch.ones(3)], weight=1.0, is_first=True, is_last=True)
    local_noise.observe([torch.ones(3)], weight=1.0, is_first=True, is_last=True)
    assert local_noise.pop_sample() is None
    noise_estimator.observe_mean([torch.ones(3)])
    noise_estimator.combine([6.0, 0.2], elapsed_s=1.0)  # 0.1 s each: no more than once in 20 s
    noise_estimator.combine([0.0, 0.0], elapsed_s=19.0)
    assert not noise_estimator.is_due
    noise_estimator.combine([0.0, 0.0], elapsed_s=2.0)
    assert noise_estimator.is_due


def test_what_is_mere_noise_of_measuring_is_no_noise_scale() -> None:
    scale = NoiseScale()
    assert scale.value(batch_size=8) is None
    scale.add(NoiseSample(small_sq=1.0, n_small=0.5, large_sq=0.4, n_large=1.0))  # would be a negative square
    assert scale.value(batch_size=8) is None
    with pytest.raises(ValueError, match="not fewer"):
        scale.add(NoiseSample(1.0, 1.0, 1.0, 1.0))


class Driver:
    """NVML as far as it is called, with GPUs by index and by name."""

    def __init__(self, *, n_gpus: int = 1, busy: int = 40, used: int = 2**30, reports_use: bool = True) -> None:
        self.n_gpus, self.busy, self.used, self.reports_use = n_gpus, busy, used, reports_use
        self.asked: Any = None

    def nvmlInit_v2(self) -> int:  # noqa: N802 (the driver's name)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: int, _: Any) -> int:  # noqa: N802
        self.asked = index
        return 0 if index < self.n_gpus else 6

    def nvmlDeviceGetHandleByUUID(self, name: bytes, _: Any) -> int:  # noqa: N802
        self.asked = name
        return 0

    def nvmlDeviceGetUtilizationRates(self, _: Any, out: Any) -> int:  # noqa: N802
        ctypes.cast(out, ctypes.POINTER(ctypes.c_uint))[0] = self.busy
        return 0 if self.reports_use else 3

    def nvmlDeviceGetMemoryInfo(self, _: Any, out: Any) -> int:  # noqa: N802
        ctypes.cast(out, ctypes.POINTER(ctypes.c_ulonglong))[2] = self.used
        return 0


def test_the_driver_reports_how_busy_the_first_visible_gpu_is() -> None:
    driver = Driver(n_gpus=4)
    assert Gpu(driver, visible="3,1").use() == GpuUse(0.4, 2**30)
    assert driver.asked == 3
    Gpu(driver, visible="GPU-5a6b")
    assert driver.asked == b"GPU-5a6b"
    with pytest.raises(OSError, match="no GPU"):
        Gpu(Driver(n_gpus=0))
    assert Gpu(Driver(reports_use=False)).use() is None


def test_bytes_are_counted_on_every_connection_since_the_last_look() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()) as one, listener.accept()[0] as other:
            traffic = Traffic()
            one.sendall(bytes(50_000))
            received = sum(len(other.recv(2**16)) for _ in iter(lambda: _has(other), False))
            sent, got = traffic.since_last_call()
            assert (sent, got) == (50_000, received)
            assert traffic.since_last_call() == (0, 0)
        assert traffic.since_last_call() == (0, 0)


def _has(line: socket.socket) -> bool:
    line.settimeout(0.5)
    try:
        return bool(line.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False


def test_a_heartbeat_is_read_by_another_process(tmp_path: Path) -> None:
    assert heartbeat.read(tmp_path / "heartbeat") is None
    written = Heartbeat(tmp_path / "heartbeat")
    first = heartbeat.read(tmp_path / "heartbeat")
    written.record("compute", step=7)
    written.record("sync")
    last = heartbeat.read(tmp_path / "heartbeat")
    assert first is not None
    assert last is not None
    assert (first.activity, last.step, last.activity) == ("start", 7, "sync")
    assert last.at >= first.at
    Heartbeat(None).record("input", step=3)


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize("mode", [SyncMode.ALL_REDUCE, SyncMode.PARAMETER_SERVER])
def test_a_gang_measures_itself(mode: SyncMode, tmp_path: Path) -> None:
    training = replace(TrainingSpec(epochs=24, batch_size=32), hyperparameters={"width": 64})
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=1000), training=training)
    gang.start(mode, n_workers=2, n_servers=1 if mode is SyncMode.PARAMETER_SERVER else 0)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    reports = gang.reports("progress")
    n_bytes = reports[-1]["parameters_bytes"]
    for report in reports:
        parts = report["compute_s"] + report["sync_s"] + report["input_s"]
        assert parts == pytest.approx(report["step_s"], rel=1e-6)
        assert 0 <= report["wait_s"] <= report["sync_s"]
    for worker in ("worker-0", "worker-1"):
        own = [report["detail"] for report in gang.reports("phase", worker) if report["phase"] == STEP_TIMES_PHASE]
        assert sum(steps["n_steps"] for steps in own) == own[-1]["step"] == reports[-1]["steps_total"]
        for steps in own:
            assert steps["input_s"] + steps["compute_s"] + steps["sync_s"] == pytest.approx(steps["step_s"], rel=1e-6)
            assert 0 <= steps["wait_s"] <= steps["sync_s"]
    steady = reports[len(reports) // 2]
    # two ranks exchange the gradient once in a ring, or push and pull it; headers and small sums come on top
    assert 0.9 * n_bytes < steady["measured"]["bytes_sent"] < 1.6 * n_bytes
    assert 0.9 * n_bytes < steady["measured"]["bytes_received"] < 1.6 * n_bytes
    assert reports[-1]["measured"].get("noise_scale", 1.0) > 0
    assert any(report["measured"].get("noise_scale") for report in reports)
    if mode is SyncMode.PARAMETER_SERVER:
        assert gang.reports("staleness", "server-0")[-1]["counts"] == [2 * reports[-1]["steps_total"]]


@pytest.mark.slow
@pytest.mark.dist
def test_servers_report_how_stale_pushes_were(tmp_path: Path) -> None:
    training = replace(TrainingSpec(epochs=20, batch_size=10), strategy={"name": "asp"})
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=500), training=training)
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=3, n_servers=2)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    for server in ("server-0", "server-1"):
        counts = gang.reports("staleness", server)[-1]["counts"]
        assert sum(counts) == gang.reports("progress")[-1]["steps_total"]
        assert np.mean(np.repeat(np.arange(len(counts)), counts)) > 0.2, "three workers are never all fresh"
