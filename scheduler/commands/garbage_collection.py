# SPDX-License-Identifier: Apache-2.0
"""Settings of Python's garbage collector for a process that plays many rounds."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

_YOUNG = 50_000  # objects more than before at which the young ones are looked through
_MOST_YOUNG = 2_000_000  # at which they are within a round, too, so that memory stays bounded
_ALL_EVERY = 64  # rounds after which old objects are looked through as well


def collect_seldom() -> None:
    """Tunes garbage collection for a process that decides or simulates many rounds: libraries are never examined again,
    the rest rarely.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)


@contextmanager
def collection_between_rounds() -> Iterator[Callable[[], None]]:
    """Tunes garbage collection for a process that waits between rounds: no round is interrupted for it.

    Yields what is to be called after each round: it looks through the objects that are new since the last one, and
    through all of them in every _ALL_EVERY-th. Rounds of the library's policies leave no cycles; others' may.
    """
    before, n_rounds = gc.get_threshold(), count(1)
    collect_seldom()
    gc.set_threshold(_MOST_YOUNG, 20, 20)

    def round_ended() -> None:
        gc.collect(0 if next(n_rounds) % _ALL_EVERY else 2)

    try:
        yield round_ended
    finally:
        gc.set_threshold(*before)
