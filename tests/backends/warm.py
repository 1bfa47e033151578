# SPDX-License-Identifier: Apache-2.0
"""Pools of warm workers for tests."""

from __future__ import annotations

import time
from pathlib import Path

from mlhub.backends.local.warm_pool import WarmPool
from mlhub.runtime.warm import start

LIGHT = "tests.backends.warm_program:prepare,run_pod"
REAL = "mlhub.runtime.warm.start:prepare,run_pod"


def pool(folder: Path, *, program: str = LIGHT, size: int = 1) -> WarmPool:
    return WarmPool(program, start.variables(), size, folder / "warm-workers.log", pause_s=0.0)


def ready(found: WarmPool, *, seconds: float = 240) -> WarmPool:
    """The pool once all its workers wait for a pod."""
    until = time.monotonic() + seconds
    while found.n_ready < found.size:
        assert time.monotonic() < until, found.log.read_text()
        found.tend()
        time.sleep(0.02)
    return found
