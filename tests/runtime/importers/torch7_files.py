# SPDX-License-Identifier: Apache-2.0
"""Writes Torch7's binary serialisation by hand, from its documentation: nothing of the reader under test."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np


class Module(NamedTuple):
    kind: str
    fields: dict[Any, Any]


class Storage(NamedTuple):
    values: list[int]


def module(kind: str, *modules: Module, **fields: Any) -> Module:
    held = {"modules": dict(enumerate(modules, 1))} if modules else {}
    return Module(kind, {**fields, **held})


def t7(value: Any) -> bytes:
    return _Writer().value(value)


class _Writer:
    def __init__(self) -> None:
        self._n = 0

    def value(self, value: Any) -> bytes:
        if value is None:
            return _int(0)
        if isinstance(value, bool):
            return _int(5) + _int(value)
        if isinstance(value, int | float):
            return _int(1) + struct.pack("<d", value)
        if isinstance(value, str):
            return _int(2) + _text(value)
        if isinstance(value, Module):
            return self._object(value.kind) + self.value(value.fields)
        if isinstance(value, Storage):
            return self._object("torch.LongStorage") + struct.pack(
                f"<q{len(value.values)}q", len(value.values), *value.values
            )
        if isinstance(value, np.ndarray):
            return self._tensor(value)
        self._n += 1
        head = _int(3) + _int(self._n) + _int(len(value))
        return head + b"".join(self.value(k) + self.value(v) for k, v in value.items())

    def _object(self, kind: str) -> bytes:
        self._n += 1
        return _int(4) + _int(self._n) + _text("V 1") + _text(kind)

    def _tensor(self, array: np.ndarray) -> bytes:
        """With its numbers behind three others in the storage, as views have it."""
        held = array.astype("<f8")
        strides = [s // 8 for s in held.strides]
        head = self._object("torch.DoubleTensor") + _int(held.ndim)
        head += struct.pack(f"<{2 * held.ndim + 1}q", *held.shape, *strides, 4)
        numbers = np.concatenate([[9.0, 9.0, 9.0], held.flatten()])
        return head + self._object("torch.DoubleStorage") + struct.pack("<q", len(numbers)) + numbers.tobytes()


def _int(value: int) -> bytes:
    return struct.pack("<i", value)


def _text(value: str) -> bytes:
    return _int(len(value)) + value.encode()
