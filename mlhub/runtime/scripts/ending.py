# SPDX-License-Identifier: Apache-2.0
"""What plain Python does when a program ends, and os._exit, by which a pod's process leaves, does not.

Threads are waited for, buffers reach their files, and functions of atexit run. The writers of TensorBoard keep up to
two minutes of values in memory; they are flushed, too. Standard library only.
"""

from __future__ import annotations

import atexit
import gc
import io
import threading
import traceback
from contextlib import suppress
from typing import Any

_WRITABLE = (io.TextIOWrapper, io.BufferedWriter)
_WRITERS = "tensorboard.summary.writer.event_file_writer"


def end_like_python(*, waits: bool = True) -> None:
    """waits: for threads that are no daemons, which plain Python does, too."""
    for thread in threading.enumerate() if waits else ():
        if thread is not threading.main_thread() and thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    _flush_tensorboard()
    try:
        atexit._run_exitfuncs()
    except Exception:
        traceback.print_exc()  # as Python does: the status of the program stays what it was
    _flush_files()


def _flush_tensorboard() -> None:
    """By its threads, which live on when the script's own writer is gone."""
    for thread in threading.enumerate():
        if type(thread).__module__ == _WRITERS:
            writing: Any = thread
            with suppress(Exception):  # a full disk, or a version with other names: other writers still count
                writing._queue.join()
                writing._record_writer.flush()


def _flush_files() -> None:
    for found in gc.get_objects():
        if issubclass(type(found), _WRITABLE):  # isinstance() would ask lazy objects of libraries for their class
            with suppress(OSError, ValueError):  # closed, or only for reading
                found.flush()
