# SPDX-License-Identifier: Apache-2.0
"""`python -m MODULE` in a process that was forked from one with its libraries imported, instead of being executed.

What an interpreter sets at its start from its environment and its command line is set here again: variables, search
path, arguments, signals, the folder of temporary files, the time zone, and how many threads libraries compute with.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import os
import runpy
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

OPENBLAS_SETTERS = ("scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_", "openblas_set_num_threads")
_thread_settings: list[Callable[[int], object]] = []


def run_python(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs `python ... -m MODULE arguments` or `python ... -c CODE arguments`, and returns its exit status.

    The working folder and the descriptors 0 to 2 are as the program is to have them. Raises ValueError for another
    command.
    """
    at = next((i for i, word in enumerate(argv) if word in ("-m", "-c")), None)
    if at is None:
        raise ValueError(f"{argv} runs neither a module nor code.")
    kind, what, arguments = argv[at], argv[at + 1], argv[at + 2 :]
    _renew(environment)
    sys.orig_argv = list(argv)
    try:
        if kind == "-m":
            sys.argv, sys.path[0] = [what, *arguments], os.getcwd()
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            sys.argv, sys.path[0] = ["-c", *arguments], ""
            exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - as python -c
        status = 0
    except SystemExit as end:
        status = _status_of(end)
    except BaseException:  # as at the top of any program
        traceback.print_exc()
        status = 1
    _finish()
    return status


def _renew(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    tempfile.tempdir = None  # whatever was found before
    importlib.invalidate_caches()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(ValueError):
        _compute_with(int(environment.get("OMP_NUM_THREADS", "")))


def find_thread_settings() -> None:
    """Finds how to change the threads of libraries that are loaded. To be called before the fork, where files of
    libraries may have other paths than the program will see."""
    _thread_settings.clear()
    if (torch := sys.modules.get("torch")) is not None:
        _thread_settings.append(torch.set_num_threads)
    for path in {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "openblas" in line}:
        library = ctypes.CDLL(path)  # loaded already, by NumPy
        found = next((name for name in OPENBLAS_SETTERS if hasattr(library, name)), None)
        if found is not None:
            _thread_settings.append(getattr(library, found))


def _compute_with(n_threads: int) -> None:
    """Libraries read OMP_NUM_THREADS when they are loaded, which was before this process had it."""
    for set_threads in _thread_settings:
        set_threads(n_threads)


def _status_of(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


def _finish() -> None:
    """What an interpreter does at its end before its memory is freed: threads of pools are ended, others waited for."""
    threading._shutdown()  # type: ignore[attr-defined]  # as multiprocessing does at the end of its processes
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
