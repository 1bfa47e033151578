# SPDX-License-Identifier: Apache-2.0
"""Random corruptions of what pods and clusters write: of bytes, and of values inside JSON. Derandomised by seeds."""

from __future__ import annotations

import copy
import json
import os
import random
from typing import Any

CHUNK = 100
EXAMPLES = int(os.environ.get("EXAMPLES", "300"))  # of all sources together
STRANGE: list[Any] = [
    None, True, -1, 0, 1e308, -1e308, float("nan"), float("inf"), 2**31, 2**63, 2**70, 10**400, "", "x", "\0", "\ud800",
    "x" * 100_000, "'; DROP TABLE jobs_job; --", [], {}, [[]], {"": None}, "1e999", "../../etc/passwd", "\u202e",
    [None] * 500,
]  # fmt: skip


def chunks_of(part: float) -> list[tuple[int, int]]:
    """Returns (seed, number of examples) of the tests of a source that is given this part of all examples.

    A test is one transaction, in which rows that were deleted cost more and more.
    """
    n_left, found = max(1, round(EXAMPLES * part)), list[tuple[int, int]]()
    while n_left > 0:
        found.append((len(found), min(n_left, CHUNK)))
        n_left -= CHUNK
    return found


def corrupted_bytes(dice: random.Random, content: bytes, other: bytes) -> bytes:
    """Cut off, with bytes changed, with a value inside it replaced, of another kind, nested too deep, or another's."""
    kind = dice.randrange(6)
    if kind == 0:
        return content[: dice.randrange(len(content))]
    if kind == 1:
        changed = bytearray(content)
        for _ in range(dice.randrange(1, 6)):
            changed[dice.randrange(len(changed))] = dice.randrange(256)
        return bytes(changed)
    if kind == 2:
        return json.dumps(corrupted_json(dice, json.loads(content))).encode(errors="replace")
    if kind == 3:
        return dice.choice([b"null", b"3", b'"x"', b"[]", b"{}", b"true", b"1e999", b"-1", b"", b"\xff\xfe"])
    if kind == 4:
        return b"[" * dice.choice([10, 1000, 100_000])
    return other


def corrupted_json(dice: random.Random, value: Any) -> Any:
    """Returns a copy of the JSON value in which one to three places were replaced, removed or renamed."""
    whole = [copy.deepcopy(value)]
    for _ in range(dice.randrange(1, 4)):
        places = list(_places(whole))[1:] or list(_places(whole))
        container, key = dice.choice(places)
        if isinstance(container, dict) and dice.random() < 0.2:
            moved = container.pop(key)
            if dice.random() < 0.5:
                container[f"{key}x"] = moved
        else:
            container[key] = copy.deepcopy(dice.choice(STRANGE))
    return whole[0]


def _places(value: Any) -> Any:
    """Every (container, key) inside the value."""
    keys = range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])
