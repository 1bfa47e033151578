"""Python's garbage collector, kept out of rounds: it would walk all that is remembered, and find next to nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG = 50_000  # objects more than before at which the young ones are looked through


@contextmanager
def no_collection() -> Iterator[None]:
    """Cycles are looked for after the round, not in its midst: what a round leaves behind goes by counting."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def collect_seldom() -> None:
    """For a process of its own that plays many rounds: libraries are never looked through again, the rest rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)
