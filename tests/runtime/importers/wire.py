# SPDX-License-Identifier: Apache-2.0
"""Writes protobuf's wire format by hand, from the specification alone: nothing of the readers under test.

Source: protobuf.dev/programming-guides/encoding; field numbers of onnx.proto and caffe.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

Field = tuple[int, Any]
FLOAT, INT64 = 1, 7


def message(*fields: Field) -> bytes:
    """Fields in order: numbers as varints, floats as 32 bits, text and bytes with their length."""
    return b"".join(field(number, value) for number, value in fields)


def field(number: int, value: Any) -> bytes:
    if isinstance(value, bool | int):
        return varint(number << 3) + varint(int(value) & (2**64 - 1))
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def onnx_tensor(name: str, array: Any, *, is_raw: bool = True) -> bytes:
    values = np.asarray(array)
    kind = INT64 if values.dtype.kind == "i" else FLOAT
    typed = values.astype("<i8" if kind == INT64 else "<f4")
    if is_raw:
        content: Field = (9, typed.tobytes())
    elif kind == FLOAT:
        content = (4, typed.tobytes())  # packed
    else:
        content = (7, b"".join(varint(int(n) & (2**64 - 1)) for n in typed.flatten()))
    return message(*((1, n) for n in values.shape), (2, kind), (8, name), content)


def attribute(name: str, value: Any) -> bytes:
    if isinstance(value, int):
        return message((1, name), (3, value), (20, 2))
    if isinstance(value, float):
        return message((1, name), (2, value), (20, 1))
    if isinstance(value, str):
        return message((1, name), (4, value), (20, 3))
    if value and isinstance(value[0], float):
        return message((1, name), *((7, n) for n in value), (20, 6))
    return message((1, name), *((8, n) for n in value), (20, 7))


def node(op: str, inputs: Sequence[str], output: str | Sequence[str], *, domain: str = "", **attributes: Any) -> bytes:
    return message(
        *((1, name) for name in inputs), *((2, name) for name in ([output] if isinstance(output, str) else output)),
        (3, f"the {op}"), (4, op),
        *((5, attribute(name, value)) for name, value in attributes.items()), (7, domain),
    )  # fmt: skip


def onnx_value(name: str, shape: Sequence[int | str], *, kind: int = FLOAT) -> bytes:
    dims = ((1, message((1, n) if isinstance(n, int) else (2, n))) for n in shape)
    return message((1, name), (2, message((1, message((1, kind), (2, message(*dims)))))))


def onnx_model(
    nodes: Sequence[bytes],
    *,
    shape: Sequence[int | str],
    constants: dict[str, Any] | None = None,
    opset: int = 17,
    outputs: Sequence[str] = ("y",),
    labels: Sequence[str] = (),
    is_raw: bool = True,
    tensors: Sequence[bytes] = (),
) -> bytes:
    """From the input x to the output y. labels: outputs of whole numbers.
    tensors: further constants, ready-made."""
    tensors = [*tensors, *(onnx_tensor(name, value, is_raw=is_raw) for name, value in (constants or {}).items())]
    graph = message(
        *((1, n) for n in nodes), (2, "graph"), *((5, t) for t in tensors),
        (11, onnx_value("x", shape)), *((12, onnx_value(name, [], kind=INT64)) for name in labels),
        *((12, onnx_value(name, [])) for name in outputs),
    )  # fmt: skip
    return message((1, 8), (2, "by hand"), (7, graph), (8, message((1, ""), (2, opset))))
