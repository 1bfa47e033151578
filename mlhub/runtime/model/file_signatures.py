# SPDX-License-Identifier: Apache-2.0
"""What a file's first bytes say of it: enough to take a single file in, and to know what to read it with.

Standard library only: the web server asks too, and looks no further than this.
"""

from __future__ import annotations

HEAD_BYTES = 64
HDF5 = b"\x89HDF\r\n\x1a\n"
ONNX_NEXT = b"\x12\x1a\x22\x28\x32\x3a\x42\x72"  # tags of ModelProto's fields 2 to 8 and 14
TORCH7_OBJECT, TORCH7_TABLE = 4, 3
MOST_IR = 60  # ir_version of ONNX files; now 14


def kind_of_head(head: bytes, *, size_bytes: int) -> str | None:
    """onnx, keras_h5, torch7, safetensors, pickle (of old PyTorch), by HEAD_BYTES bytes; None: something else."""
    if head.startswith(HDF5):
        return "keras_h5"
    if len(head) > 9 and 2 <= int.from_bytes(head[:8], "little") <= size_bytes - 8 and head[8:9] == b"{":
        return "safetensors"
    if len(head) > 2 and head[0] == 0x80 and head[1] in (2, 3, 4, 5):
        return "pickle"
    if len(head) > 2 and head[0] == 0x08 and 1 <= head[1] <= MOST_IR and head[2] in ONNX_NEXT:
        return "onnx"
    if len(head) >= 16 and int.from_bytes(head[:4], "little") in (TORCH7_OBJECT, TORCH7_TABLE):
        # an object: its number, then the length of "V 1" or of a class's name
        return "torch7" if int.from_bytes(head[4:8], "little") == 1 else None
    return None
