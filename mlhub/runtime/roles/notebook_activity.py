# SPDX-License-Identifier: Apache-2.0
"""For how long nothing was done in a notebook: no cell ran, no terminal was used, no kernel ran on a GPU of the pod."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

LOOK_EVERY_S = 5.0


class NotebookActivityClock:
    """An open page is no activity: browsers stay open overnight."""

    def __init__(self, server: Any) -> None:
        """server: jupyter_server's ServerApp, initialised."""
        self._server = server
        self._active_at = datetime.now(UTC)

    def idle_s(self) -> float:
        """Seconds since the last activity, 0 while there is some."""
        now = datetime.now(UTC)
        if self._is_busy() or gpus_are_busy():
            self._active_at = now
        self._active_at = max([self._active_at, *self._seen()])
        return max(0.0, (now - self._active_at).total_seconds())

    def _is_busy(self) -> bool:
        kernels = self._server.kernel_manager
        return any(
            getattr(kernels.get_kernel(name), "execution_state", "") == "busy" for name in kernels.list_kernel_ids()
        )

    def _seen(self) -> Iterator[datetime]:
        kernels = self._server.kernel_manager
        for name in kernels.list_kernel_ids():
            if isinstance(at := getattr(kernels.get_kernel(name), "last_activity", None), datetime):
                yield at
        terminals = self._server.web_app.settings.get("terminal_manager")
        for terminal in list(terminals.terminals.values()) if terminals is not None else ():
            if isinstance(at := getattr(terminal, "last_activity", None), datetime):
                yield at


def gpus_are_busy() -> bool:
    """Whether a kernel ran lately on one of the pod's GPUs, as their driver shows it; False where there are none."""
    names = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.startswith("GPU-")]
    if not names:
        return False
    try:
        import pynvml
    except ImportError:
        return False
    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        return any(
            pynvml.nvmlDeviceGetUtilizationRates(pynvml.nvmlDeviceGetHandleByUUID(name)).gpu > 0 for name in names
        )
    return False
