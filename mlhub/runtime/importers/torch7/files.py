# SPDX-License-Identifier: Apache-2.0
"""Torch7's binary serialisation, little-endian with longs of 8 bytes, as plain values: classes are data, never code.

Source: github.com/torch/torch7, doc/serialization.md, File.lua, Tensor.lua.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.importers.graph import refused

NIL, NUMBER, STRING, TABLE, OBJECT, BOOLEAN = range(6)
FUNCTIONS = (6, 7, 8)
LEAST_ENTRY_BYTES = 8  # of a table: a key and a value
TYPES = {
    "Float": "<f4", "Double": "<f8", "Half": "<f2", "Byte": "u1", "Char": "i1", "Short": "<i2", "Int": "<i4",
    "Long": "<i8", "Cuda": "<f4", "CudaDouble": "<f8", "CudaHalf": "<f2", "CudaLong": "<i8", "CudaInt": "<i4",
    "CudaByte": "u1",
}  # fmt: skip


@dataclass
class Thing:
    """An object of a class that is no tensor: its name, as nn.Linear, and its fields."""

    kind: str
    fields: dict[Any, Any] = field(default_factory=dict)

    def get(self, name: str, default: Any = None) -> Any:
        found = self.fields.get(name)
        return default if found is None else found


def listed(table: Any) -> list[Any]:
    """The values of a table at 1, 2, 3 ..."""
    if not isinstance(table, dict):
        return []
    found: list[Any] = []
    while (value := table.get(float(len(found) + 1))) is not None:
        found.append(value)
    return found


def value_of(path: Path) -> Any:
    """What the file holds: None, numbers, text, booleans, tables as dicts, tensors, arrays (storages), Things.

    Raises BadInputError.
    """
    reading = _Torch7FileReading(path.read_bytes())
    try:
        return reading.value()
    except (struct.error, UnicodeDecodeError, RecursionError) as error:
        raise _damaged(f"byte {reading.at:,}: {error}") from error


class _Torch7FileReading:
    def __init__(self, content: bytes) -> None:
        self.at = 0
        self._content = content
        self._known: dict[int, Any] = {}

    def value(self) -> Any:
        kind = self._int()
        if kind == NIL:
            return None
        if kind == NUMBER:
            return self._unpacked("<d", 8)
        if kind == STRING:
            return self._text()
        if kind == BOOLEAN:
            return self._int() == 1
        if kind in FUNCTIONS:
            raise refused(
                "The Torch7 file holds a function, which is code.",
                "Save the nn module alone: torch.save('model.t7', model:clearState()).",
            )
        if kind not in (TABLE, OBJECT):
            raise _damaged(f"byte {self.at:,} has the unknown kind {kind}; only binary files are read")
        number = self._int()
        if number not in self._known:
            self._read_into(number, kind)
        return self._known[number]

    def _read_into(self, number: int, kind: int) -> None:
        """An object is known before it is whole, since it may hold itself."""
        if kind == TABLE:
            self._known[number] = table = dict[Any, Any]()
            n = self._int()
            self._check(n * LEAST_ENTRY_BYTES)
            for _ in range(n):
                key = self.value()
                table[key if isinstance(key, float | str | bool) else ("other", len(table))] = self.value()
            return
        version = self._text()
        name = self._text() if version.startswith("V ") else version
        room, _, word = name.partition(".")
        if room == "torch" and word.removesuffix("Tensor") in TYPES and word.endswith("Tensor"):
            self._known[number] = self._tensor()
        elif room == "torch" and word.removesuffix("Storage") in TYPES and word.endswith("Storage"):
            self._known[number] = self._storage(TYPES[word.removesuffix("Storage")])
        else:
            self._known[number] = thing = Thing(name)
            fields = self.value()
            thing.fields = fields if isinstance(fields, dict) else {}

    def _tensor(self) -> Tensor:
        n_axes = self._int()
        self._check(16 * n_axes)
        sizes = [self._unpacked("<q", 8) for _ in range(n_axes)]
        strides = [self._unpacked("<q", 8) for _ in range(n_axes)]
        offset = self._unpacked("<q", 8) - 1
        held = self.value()
        n = math.prod(sizes) if sizes else 0
        if held is None or n == 0:
            return torch.zeros(0)
        last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
        is_sound = isinstance(held, np.ndarray) and min(sizes) > 0 and min(strides) >= 0 and n <= held.size
        if not is_sound or offset < 0 or last >= held.size:
            raise _damaged(f"a tensor of the shape {sizes} is outside of its numbers")
        values = held.astype(np.float32 if held.dtype.kind == "f" else np.int64)
        return torch.from_numpy(values).as_strided(sizes, strides, offset).clone()

    def _storage(self, kind: str) -> Any:
        n = self._unpacked("<q", 8)
        width = np.dtype(kind).itemsize
        self._check(n * width)
        array = np.frombuffer(self._content, kind, count=n, offset=self.at)
        self.at += n * width
        return array

    def _text(self) -> str:
        n = self._int()
        self._check(n)
        found = self._content[self.at : self.at + n].decode()
        self.at += n
        return found

    def _int(self) -> int:
        return int(self._unpacked("<i", 4))

    def _unpacked(self, form: str, width: int) -> Any:
        (found,) = struct.unpack_from(form, self._content, self.at)
        self.at += width
        return found

    def _check(self, n_bytes: int) -> None:
        """What the file claims to hold is there."""
        if not 0 <= n_bytes <= len(self._content) - self.at:
            raise _damaged(
                f"byte {self.at:,} claims {n_bytes:,} bytes, of which {len(self._content) - self.at:,} are there"
            )


def _damaged(why: str) -> BadInputError:
    return refused(
        f"The Torch7 file cannot be read: {why}.",
        "Save it again in binary: torch.save('model.t7', model), on a machine with 64 bits.",
    )
