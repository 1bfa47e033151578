# SPDX-License-Identifier: Apache-2.0
"""Recording a script that trains by itself: each step of its first torch optimiser ends a step.

Nothing is added to the script's own work until a recording is asked for: a thread looks at the file of requests, and
only then has torch call back after the steps of optimisers. A script that uses none is never recorded.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from mlhub.runtime.pod import Pod
from mlhub.runtime.profiling.files import RecordingFiles
from mlhub.runtime.profiling.recorder import StepRecorder

PERIOD_S = 0.5


class ScriptRecorder(threading.Thread):
    """Watches for requests while the script runs in the main thread, and for as long as this process does."""

    def __init__(self, pod: Pod) -> None:
        super().__init__(name="profile-requests", daemon=True)
        self._recorder, self._files, self._rank = StepRecorder(pod), RecordingFiles(pod), pod.spec.index
        self._is_over = threading.Event()
        self._hook: Any = None
        self._optimizer: int | None = None  # its id: others' steps do not count
        self._n_steps = 0
        self._seen = ""

    def run(self) -> None:
        while not self._is_over.wait(PERIOD_S):
            optimizers = sys.modules.get("torch.optim.optimizer")
            register = getattr(optimizers, "register_optimizer_step_post_hook", None)  # None while it is imported
            if register is None or self._hook is not None:
                continue
            try:
                request = self._files.read_request()
            except (OSError, ValueError):
                continue
            if request is not None and request.id != self._seen:
                self._seen = request.id
                if self._rank in request.ranks:
                    self._hook = register(self._after_step)

    def close(self) -> None:
        """Called by the script's thread when the script has ended."""
        self._is_over.set()
        self._recorder.close("the script ended.")

    def _after_step(self, optimizer: Any, _arguments: Any, _named: Any) -> None:
        """In the thread that trains, which is the one that the profiler has to be started in."""
        if self._optimizer is None:
            self._optimizer = id(optimizer)
        if id(optimizer) != self._optimizer:
            return
        self._n_steps += 1
        self._recorder.after_step()
        self._recorder.before_step(self._n_steps, time.perf_counter())
        if self._recorder.is_idle and self._hook is not None:
            self._hook.remove()
            self._hook = None
            self._optimizer = None
