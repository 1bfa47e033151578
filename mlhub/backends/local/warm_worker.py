# SPDX-License-Identifier: Apache-2.0
"""A warm worker: a process that has imported what pods import, before any tenant's data, and becomes one pod.

Run as `python warm_worker.py PROGRAM PARENT_PID`, which imports nothing else of the backend. PROGRAM names a module
and, after a colon, two functions of it: one that imports, and one that runs a pod: `pod(argv, environment) -> status`.
The worker writes "ready" to standard output, and waits on standard input for the folder of a pod, once. Then it forks
the pod's first process, with the limits and the control group that the shim of a cold start gives it, and itself
executes the shim, which adopts that process. It ends without a pod when its parent ends or closes the pipe. See
docs/decisions/warm-workers.md.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __name__ != "__main__":
    from mlhub.backends.local import shim
else:
    shim = importlib.import_module("shim")  # next to this file
    sys.path[0] = "/"  # this folder's modules are no one else's

READY, TAKEN = b"ready\n", b"taken\n"

RunPod = Callable[[Sequence[str], Mapping[str, str]], int]


def main(arguments: Sequence[str]) -> int:
    """Returns 0 when no pod was given; else it does not return."""
    program, parent = arguments[0], int(arguments[1])
    module_name, _, functions = program.partition(":")
    module = importlib.import_module(module_name)
    prepare, run_pod = (getattr(module, name) for name in functions.split(","))
    prepare()
    _refuse_threads()
    gc.collect()
    gc.freeze()  # what is there already is not looked at again, so that most of its pages stay shared after the fork
    os.write(1, READY)
    folder = _received_folder(parent)
    if folder is not None:
        os.write(1, TAKEN)
        _become(folder, run_pod)
    return 0


def _refuse_threads() -> None:
    """Raises RuntimeError with more threads than one: a fork would lose them, and their locks would stay locked."""
    n_threads = len(os.listdir("/proc/self/task"))
    if n_threads != 1:
        raise RuntimeError(f"What was imported has started {n_threads - 1} threads, so that no pod can be forked.")


def _received_folder(parent: int) -> Path | None:
    """The folder of the pod; None once the parent has ended, or has closed the pipe."""
    poll = select.poll()
    try:
        parent_process = os.pidfd_open(parent)
    except ProcessLookupError:
        return None
    poll.register(0, select.POLLIN)
    poll.register(parent_process, select.POLLIN)
    line = b""
    while not line.endswith(b"\n"):
        if 0 not in dict(poll.poll()):
            return None
        chunk = os.read(0, 4096)
        if not chunk:
            return None
        line += chunk
    os.close(parent_process)
    return Path(os.fsdecode(line[:-1]))


def _become(folder: Path, run_pod: RunPod) -> None:
    """Forks the pod and executes its shim. Does not return."""
    with open(os.devnull) as nothing, (folder / "shim.log").open("ab", buffering=0) as log:
        for source, target in ((nothing.fileno(), 0), (log.fileno(), 1), (log.fileno(), 2)):
            os.dup2(source, target)
    pod = json.loads((folder / "pod.json").read_text())
    shim.adopt_orphans()
    group = shim.made_group(pod.get("control_group"))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until the shim can act on it
    worker = os.getpid()
    child = os.fork()
    if child == 0:
        _run_child(folder, pod, group, run_pod, worker=worker)
    with contextlib.suppress(OSError):
        os.setpgid(child, child)  # the child does the same: it holds whichever comes first
    arguments = [str(folder), str(child), "1" if group else "0"]
    os.execve(  # noqa: S606 - the shim of a cold start
        sys.executable, [sys.executable, "-S", str(shim.__file__), *arguments], shim.environment(os.environ)
    )


def _run_child(
    folder: Path, pod: dict[str, Any], group: dict[str, Any] | None, run_pod: RunPod, *, worker: int
) -> None:
    """The pod's first process, as subprocess.Popen makes it for the shim of a cold start; never returns."""
    status = 1
    try:
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        with (folder / "output.log").open("ab", buffering=0) as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        os.closerange(3, 2**16)
        os.chdir(folder / "work")
        shim.limit(pod, group)
        if os.getppid() != worker:  # it was killed before the kernel knew to end this process with it
            os._exit(status)
        status = run_pod(pod["argv"], pod["environment"])
    except BaseException:  # nothing may leave this function: it would go on as the warm worker
        traceback.print_exc()
    finally:
        os._exit(status & 0xFF)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
