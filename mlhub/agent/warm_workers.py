# SPDX-License-Identifier: Apache-2.0
"""The pool of processes of a machine that wait to become pods: the runtime's program in the local backend's pool."""

from __future__ import annotations

from pathlib import Path

from mlhub.backends.local.warm_pool import WarmPool
from mlhub.runtime.sandbox.capabilities import isolation
from mlhub.runtime.warm import start

PROGRAM = "mlhub.runtime.warm.start:prepare,run_pod"


def warm_pool(home: Path, size: int) -> WarmPool | None:
    """None where none is wanted, or where a forked pod would be confined less strictly than an executed one."""
    if not size or not start.is_as_strict_as_a_cold_start(isolation()):
        return None
    return WarmPool(program=PROGRAM, environment=start.variables(), size=size, log=home / "warm-workers.log")
