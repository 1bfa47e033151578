# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's driver for tests: GPUs whose memory and processes are the test's, under NVML's own function names."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

GIB = 2**30


@dataclass
class FakeGpu:
    uuid: str
    minor: int
    used_bytes: int = 0
    processes: list[int] = field(default_factory=list)
    utilisation: int | None = 40
    is_lost: bool = False


class FakeNvml:
    """The part of pynvml that MLHub calls."""

    NVML_TEMPERATURE_GPU = 0

    class NVMLError(Exception):
        pass

    class NVMLError_NotSupported(NVMLError):  # noqa: N801, N818 (NVML's name)
        pass

    def __init__(self, *gpus: FakeGpu, has_driver: bool = True) -> None:
        self.gpus, self._has_driver = list(gpus), has_driver

    def nvmlInit(self) -> None:  # noqa: N802
        if not self._has_driver:
            raise self.NVMLError("Driver Not Loaded")

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:  # noqa: N802
        if self.gpus[index].is_lost:
            raise self.NVMLError("GPU is lost")
        return self.gpus[index]

    def nvmlDeviceGetUUID(self, gpu: FakeGpu) -> str:  # noqa: N802
        return gpu.uuid

    def nvmlDeviceGetName(self, gpu: FakeGpu) -> str:  # noqa: N802
        return "NVIDIA RTX 6000 Ada"

    def nvmlDeviceGetMinorNumber(self, gpu: FakeGpu) -> int:  # noqa: N802
        return gpu.minor

    def nvmlDeviceGetMemoryInfo(self, gpu: FakeGpu) -> Any:  # noqa: N802
        return SimpleNamespace(total=48 * GIB, used=gpu.used_bytes)

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: FakeGpu) -> list[Any]:  # noqa: N802
        return [SimpleNamespace(pid=pid) for pid in gpu.processes]

    def nvmlDeviceGetUtilizationRates(self, gpu: FakeGpu) -> Any:  # noqa: N802
        if gpu.utilisation is None:
            raise self.NVMLError_NotSupported("Not Supported")
        return SimpleNamespace(gpu=gpu.utilisation)

    def nvmlDeviceGetTemperature(self, gpu: FakeGpu, sensor: int) -> int:  # noqa: N802
        return 61
