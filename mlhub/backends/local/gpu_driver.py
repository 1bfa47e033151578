# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's driver says of this machine's GPUs (NVML). Another driver is one class with the same method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pynvml


@dataclass(frozen=True)
class GpuReading:
    """One GPU at one moment. minor: its device file is /dev/nvidia<minor>.

    utilisation: the fraction of the last moments in which a kernel ran; temperature_c; None: the driver does not say.
    processes: ids of those that have memory on it, as far as the driver shows them. error: why it cannot be used.
    """

    uuid: str
    name: str
    minor: int
    memory_bytes: int
    used_bytes: int
    utilisation: float | None = None
    temperature_c: float | None = None
    processes: frozenset[int] = frozenset()
    error: str = ""


class GpuDriver(Protocol):
    def read(self) -> Sequence[GpuReading]:
        """Returns every GPU of this machine, in the driver's order. One that fails has an error."""


class NvmlDriver:
    """Reads the GPUs through NVML. Raises OSError where there is no driver."""

    def __init__(self, nvml: Any = pynvml) -> None:
        self._nvml = nvml
        self._known: dict[int, GpuReading] = {}  # by index, as read last
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            raise OSError(f"NVML does not start: {error}") from error

    def read(self) -> list[GpuReading]:
        """A GPU that fell off the bus keeps its identity, with the error, if it was read before."""
        found = []
        for index in range(self._nvml.nvmlDeviceGetCount()):
            try:
                self._known[index] = reading = self._one(self._nvml.nvmlDeviceGetHandleByIndex(index))
            except self._nvml.NVMLError as error:
                if index not in self._known:
                    continue
                last = self._known[index]
                reading = GpuReading(last.uuid, last.name, last.minor, last.memory_bytes, 0, error=str(error))
            found.append(reading)
        return found

    def _one(self, handle: Any) -> GpuReading:
        nvml = self._nvml
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        compute = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        utilisation = self._optional(nvml.nvmlDeviceGetUtilizationRates, handle)
        temperature = self._optional(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU)
        return GpuReading(
            uuid=str(nvml.nvmlDeviceGetUUID(handle)),
            name=str(nvml.nvmlDeviceGetName(handle)),
            minor=int(nvml.nvmlDeviceGetMinorNumber(handle)),
            memory_bytes=int(memory.total),
            used_bytes=int(memory.used),
            utilisation=None if utilisation is None else utilisation.gpu / 100,
            temperature_c=None if temperature is None else float(temperature),
            processes=frozenset(int(process.pid) for process in compute),
        )

    def _optional(self, ask: Any, *arguments: Any) -> Any:
        """None for what this kind of GPU does not report."""
        try:
            return ask(*arguments)
        except self._nvml.NVMLError_NotSupported:
            return None


def nvml_driver() -> NvmlDriver | None:
    """Returns the driver; None on a machine without NVIDIA GPUs."""
    try:
        driver = NvmlDriver()
        return driver if driver.read() else None
    except OSError:
        return None
