# SPDX-License-Identifier: Apache-2.0
"""Settings of Python's garbage collector for a process that plays many rounds."""

from __future__ import annotations

import gc

_YOUNG = 50_000  # objects more than before at which the young ones are looked through


def collect_seldom() -> None:
    """Tunes garbage collection for a process that decides or simulates many rounds: libraries are never examined again,
    the rest rarely.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)
