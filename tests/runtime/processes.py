# SPDX-License-Identifier: Apache-2.0
"""Trainers as processes of their own, forked from one that has torch imported already: a start costs milliseconds."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from multiprocessing.context import ForkServerContext
from pathlib import Path

from mlhub.runtime.launcher.main import MEMORY

PRELOADED = [
    "torch._dynamo",
    "mlhub.runtime.roles.server",
    "mlhub.runtime.roles.script",
    "mlhub.runtime.roles.worker",
    "mlhub.runtime.trainer.loop",
    "mlhub.runtime.strategies.synchronous.all_reduce",
]

_context: ForkServerContext | None = None


def _fork_server() -> ForkServerContext:
    global _context
    if _context is None:
        for name, value in {"OMP_NUM_THREADS": "1", **MEMORY}.items():
            os.environ.setdefault(name, value)
        _context = multiprocessing.get_context("forkserver")
        _context.set_forkserver_preload(PRELOADED)
    return _context


class TrainerProcess:
    """python -m mlhub.runtime.roles, with this environment, in this folder. Looks like a subprocess.Popen."""

    def __init__(self, environment: dict[str, str], folder: Path, output: Path) -> None:
        self._process = _fork_server().Process(target=_train, args=(environment, str(folder), str(output)))
        self._process.start()
        self.pid = self._process.pid or 0

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Raises TimeoutError."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise TimeoutError(f"the process {self.pid} still runs")
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def terminate(self) -> None:
        self._process.terminate()

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)


def _train(environment: dict[str, str], folder: str, output: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    from mlhub.runtime.roles.__main__ import main

    status = main()
    used = os.times()
    Path("processor_s").write_text(str(used.user + used.system + used.children_user + used.children_system))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
