# SPDX-License-Identifier: Apache-2.0
"""What a warm worker imports before it has a pod, and how it becomes that pod (docs/decisions/warm-workers.md).

The sandbox is set up by the same code as for a cold start (sandbox/init.py); the one difference is the last step, where
a cold start executes Python and this one goes on in the process that it has.
"""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from mlhub.runtime.launcher.forked_python import find_thread_settings, run_python
from mlhub.runtime.launcher.main import MEMORY
from mlhub.runtime.launcher.standby import fork_standby
from mlhub.runtime.sandbox import init
from mlhub.runtime.sandbox.confinement import Confinement
from mlhub.runtime.sandbox.isolation import Isolation
from mlhub.runtime.sandbox.runner import INIT, PROJECT
from mlhub.wire.imports import without_garbage_collection

# what a worker of a built-in model has imported at its first step, and no library that a job may bring itself
PRELOADED = (
    "mlhub.runtime.roles.server",
    "mlhub.runtime.roles.worker",
    "mlhub.runtime.trainer.loop",
    "mlhub.runtime.strategies.synchronous.all_reduce",
    "mlhub.runtime.strategies.synchronous.single",
)
LAUNCHER = "mlhub.runtime"


def variables() -> dict[str, str]:
    """The environment of a warm worker: what pods have in common; nothing of the platform's own."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(PROJECT),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/nonexistent",  # as of a pod, where no packages of a user lie
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",  # libraries that start threads when they are imported start none
        **MEMORY,
    }


def is_as_strict_as_a_cold_start(chosen: Isolation) -> bool:
    """Whether a forked program can reach no more than an executed one, on a machine with this isolation.

    /proc/self/exe of a forked program is the file outside the sandbox. Another user's rights, or Landlock, keep a pod
    from writing it; without either, pods start cold.
    """
    return chosen.has_namespaces and chosen.has_filter and (chosen.has_own_user or chosen.has_landlock)


def prepare(modules: Sequence[str] = PRELOADED) -> None:
    """Imports what workers import, or other modules. Raises ImportError."""
    with without_garbage_collection():
        for name in modules:
            importlib.import_module(name)
    from mlhub.runtime.optimization.without_compiler import leave_compiler_out

    leave_compiler_out()
    find_thread_settings()


def run_pod(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a pod's command in this process, in the sandbox where the command has one. Returns its exit status."""
    if str(INIT) in argv:
        return init.run_pod(Path(argv[-1]), start=_run_confined)
    return _run(argv, environment)


def run_reported(report: int) -> int:
    """Runs the sandboxed program that is described on standard input. report: the descriptor for how it went."""
    return init.run_reported(report, start=_run_confined)


def _run_confined(confinement: Confinement) -> NoReturn:
    """In the program's own process, where init.py would execute the program."""
    status = 1
    try:
        os.closerange(3, 2**16)
        status = _run(confinement.argv, confinement.environment)
    except BaseException:  # nothing may leave this function: it would go on as the sandbox
        traceback.print_exc()
    finally:
        os._exit(status & 0xFF)


def _run(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    if tuple(argv[-2:]) == ("-m", LAUNCHER):
        fork_standby()
    return run_python(argv, environment)
