# SPDX-License-Identifier: Apache-2.0
"""Arrays of PostgreSQL as text of theirs, for parameters of unnest().

The driver writes a list as ARRAY[...], an expression of so many constants: PostgreSQL takes ten times as long to read
it, and the driver as long to write it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime


def number_array(numbers: Iterable[float]) -> str:
    """NaN and infinities, too."""
    return f"{{{','.join(map(repr, numbers))}}}"


def moment_array(moments: Iterable[datetime]) -> str:
    """Of aware times."""
    return f"{{{','.join(map(datetime.isoformat, moments))}}}"
