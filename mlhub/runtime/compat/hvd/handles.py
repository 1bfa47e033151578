# SPDX-License-Identifier: Apache-2.0
"""Operations under way: poll() asks, synchronize() waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlhub.runtime.compat.hvd.primitives import Started


class Handle:
    """finish: makes the result once all of the operation's parts are done."""

    def __init__(self, parts: Sequence[Started], finish: Callable[[], Any]) -> None:
        self._parts, self._finish = list(parts), finish
        self._is_finished, self._result = False, None

    def is_done(self) -> bool:
        return self._is_finished or all(part.is_done() for part in self._parts)

    def wait(self) -> Any:
        if not self._is_finished:
            for part in self._parts:
                part.wait()
            self._result, self._is_finished = self._finish(), True
        return self._result


class Together(Handle):
    """Done when all are; the result is theirs, as a list."""

    def __init__(self, handles: Sequence[Handle]) -> None:
        super().__init__((), lambda: [handle.wait() for handle in handles])
        self._handles = handles

    def is_done(self) -> bool:
        return all(handle.is_done() for handle in self._handles)


def poll(handle: Handle) -> bool:
    """Whether synchronize() would not wait."""
    return handle.is_done()


def synchronize(handle: Handle) -> Any:
    """Waits; returns the operation's tensor, or tensors."""
    return handle.wait()
