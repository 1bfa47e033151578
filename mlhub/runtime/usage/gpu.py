# SPDX-License-Identifier: Apache-2.0
"""Utilisation and memory of this worker's GPU, from NVIDIA's driver (NVML), if there is one.

The driver's own library is called, so no package is needed. Standard library only.
"""

from __future__ import annotations

import ctypes
import functools
import os
from dataclasses import dataclass
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
OK = 0


@dataclass(frozen=True)
class GpuUse:
    """utilisation: the fraction of the last moments in which a kernel ran, 0 to 1; memory_bandwidth: in which the GPU's
    memory was read or written."""

    utilisation: float
    memory_bytes: int
    memory_bandwidth: float = 0.0


class _Utilisation(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Gpu:
    """One GPU. library: NVML, loaded. visible: as in CUDA_VISIBLE_DEVICES. Raises OSError when there is no such GPU."""

    def __init__(self, library: Any, *, visible: str = "") -> None:
        self._library, self._handle = library, ctypes.c_void_p()
        first = visible.split(",")[0].strip()
        if library.nvmlInit_v2() != OK:
            raise OSError("NVML does not start")
        if first and not first.isdigit():
            found = library.nvmlDeviceGetHandleByUUID(first.encode(), ctypes.byref(self._handle))
        else:
            found = library.nvmlDeviceGetHandleByIndex_v2(int(first or 0), ctypes.byref(self._handle))
        if found != OK:
            raise OSError(f"NVML knows no GPU {first or 0}")

    def use(self) -> GpuUse | None:
        """The current usage; None when the driver does not report it, as for a slice of a GPU."""
        utilisation, memory = _Utilisation(), _Memory()
        if self._library.nvmlDeviceGetUtilizationRates(self._handle, ctypes.byref(utilisation)) != OK:
            return None
        if self._library.nvmlDeviceGetMemoryInfo(self._handle, ctypes.byref(memory)) != OK:
            return None
        return GpuUse(utilisation.gpu / 100, int(memory.used), utilisation.memory / 100)


@functools.cache
def _first() -> Gpu | None:
    try:
        return Gpu(ctypes.CDLL(LIBRARY), visible=os.environ.get("CUDA_VISIBLE_DEVICES", ""))
    except (OSError, AttributeError):
        return None


def use() -> GpuUse | None:
    """The usage of this process's first GPU; None where there is no GPU or no driver."""
    found = _first()
    return None if found is None else found.use()
