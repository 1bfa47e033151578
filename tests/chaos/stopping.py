# SPDX-License-Identifier: Apache-2.0
"""Stops processes with all that they started: a server whose first process alone is stopped answers by its others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import psutil

from tests.platform import RunningPlatform, is_alive


@contextmanager
def stopped(pids: Iterable[int], *, with_children: bool = True) -> Iterator[None]:
    """SIGSTOP while the block lasts: they hold their sockets and answer nothing, which is worse than being dead."""
    found: list[psutil.Process] = []
    try:
        for pid in pids:
            with suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                process.suspend()  # before its children are listed, so that it starts no more
                found.append(process)
                for child in process.children(recursive=True) if with_children else ():
                    with suppress(psutil.NoSuchProcess):
                        child.suspend()
                        found.append(child)
        yield
    finally:
        for process in reversed(found):
            with suppress(psutil.NoSuchProcess):
                process.resume()


def living_pods(platform: RunningPlatform) -> list[int]:
    return [pid for pid in platform.pods().values() if is_alive(pid)]
