# SPDX-License-Identifier: Apache-2.0
"""Reads a safetensors file with torch alone.

Source: the format's description (github.com/huggingface/safetensors): the length of a JSON header as 8 bytes, the
header, then the values of the tensors, little-endian.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

TYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
    "C64": torch.complex64,
}
MAX_HEADER_BYTES = 100 * 2**20


def read_weights(path: Path) -> dict[str, Tensor]:
    """Returns the tensors by name. Raises ValueError for a file that is damaged or holds an unknown type."""
    with path.open("rb") as file:
        n_header = int.from_bytes(file.read(8), "little")
        if n_header > MAX_HEADER_BYTES:
            raise ValueError(f"{path.name} is not a safetensors file.")
        header = json.loads(file.read(n_header))
        start, found = 8 + n_header, {}
        for name, about in header.items():
            if name == "__metadata__":
                continue
            if about["dtype"] not in TYPES:
                raise ValueError(f"{path.name}: the type {about['dtype']} of {name} is unknown.")
            begin, end = about["data_offsets"]
            file.seek(start + begin)
            found[name] = _tensor(bytearray(file.read(end - begin)), TYPES[about["dtype"]], about["shape"])
    return found


def _tensor(values: bytearray, kind: torch.dtype, shape: list[int]) -> Tensor:
    if not values:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(values, dtype=kind).reshape(shape)
