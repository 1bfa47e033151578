# SPDX-License-Identifier: Apache-2.0
"""How many rows fit into one answer: none is larger than 200 kB, whatever letters people's names and values have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework.renderers import JSONRenderer

MAX_ROWS_BYTES = 185_000  # of an answer below 200 kB, with its other fields and the addresses of two pages


def json_bytes(value: Any) -> int:
    """What the value takes in an answer."""
    return len(JSONRenderer().render(value))


def n_fitting(rows: Iterable[Any]) -> int:
    """How many of the first rows, as they are answered, fit into MAX_ROWS_BYTES; at least one, where there is one."""
    n, left_bytes = 0, MAX_ROWS_BYTES
    for row in rows:
        left_bytes -= json_bytes(row) + 1  # and a comma
        if left_bytes < 0 and n:
            break
        n += 1
    return n
