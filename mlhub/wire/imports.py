# SPDX-License-Identifier: Apache-2.0
"""Imports without the garbage collector, which finds nothing in them and looks at everything again and again."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Within the block no garbage is collected; what it leaves is not looked at by later collections, either.

    One pass over what `import torch` makes takes a tenth of the import's own time, and several fall into a start.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
