# SPDX-License-Identifier: Apache-2.0
"""ONNX files: messages by the field numbers of onnx.proto, and tensors out of them, also those kept in other files.

Source: github.com/onnx/onnx, onnx/onnx.proto.
"""

from __future__ import annotations

import math
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import torch
from google.protobuf.message import DecodeError
from torch import Tensor

from mlhub.runtime.importers.graph import refused
from mlhub.runtime.importers.messages import declared

MESSAGES = declared(
    "mlhub_onnx",
    {
        "Pair": "1 key string\n 2 value string",
        "OperatorSet": "1 domain string\n 2 version int64",
        "Model": "1 ir_version int64\n 2 producer_name string\n 7 graph Graph\n 8 opset_import OperatorSet*",
        "Graph": """
            1 node Node*
            2 name string
            5 initializer Tensor*
            11 input Value*
            12 output Value*
            15 sparse_initializer Sparse*
        """,
        "Sparse": "3 dims int64*",
        "Node": """
            1 input string*
            2 output string*
            3 name string
            4 op_type string
            5 attribute Attribute*
            7 domain string
        """,
        "Attribute": """
            1 name string
            2 f float
            3 i int64
            4 s bytes
            5 t Tensor
            6 g Graph
            7 floats float*
            8 ints int64*
            9 strings bytes*
            11 graphs Graph*
            20 type int32
        """,
        "Tensor": """
            1 dims int64*
            2 data_type int32
            4 float_data float*
            5 int32_data int32*
            7 int64_data int64*
            8 name string
            9 raw_data bytes
            10 double_data double*
            11 uint64_data uint64*
            13 external_data Pair*
            14 data_location int32
        """,
        "Dimension": "1 dim_value int64\n 2 dim_param string",
        "Shape": "1 dim Dimension*",
        "TensorType": "1 elem_type int32\n 2 shape Shape",
        "Type": "1 tensor_type TensorType",
        "Value": "1 name string\n 2 type Type",
    },
)
EXTERNAL = 1
BFLOAT16 = 16
# data_type -> numpy's type, and the field that holds such numbers when they are not raw
TYPES = {
    1: ("<f4", "float_data"), 2: ("u1", "int32_data"), 3: ("i1", "int32_data"), 4: ("<u2", "int32_data"),
    5: ("<i2", "int32_data"), 6: ("<i4", "int32_data"), 7: ("<i8", "int64_data"), 9: ("?", "int32_data"),
    10: ("<f2", "int32_data"), 11: ("<f8", "double_data"), 12: ("<u4", "uint64_data"), 13: ("<u8", "uint64_data"),
    BFLOAT16: ("<u2", "int32_data"),
}  # fmt: skip
DTYPES = {
    1: torch.float32, 2: torch.uint8, 3: torch.int8, 5: torch.int16, 6: torch.int32, 7: torch.int64, 9: torch.bool,
    10: torch.float32, 11: torch.float32, BFLOAT16: torch.float32,
}  # fmt: skip


def model_of(path: Path) -> Any:
    """The ModelProto. Raises BadInputError."""
    model = MESSAGES["Model"]()
    try:
        model.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise refused(f"{path.name} is no whole ONNX file: {error}.", "Export it again.") from error
    if not model.graph.node:
        raise refused(f"{path.name} is an ONNX file without a graph.", "Export it again.")
    return model


def tensor_of(tensor: Any, folder: Path) -> Tensor:
    """Floating numbers as float32, whole ones as they are. Raises BadInputError."""
    name, dims = tensor.name or "a constant", list(tensor.dims)
    if tensor.data_type not in TYPES:
        raise refused(
            f"{name} has the ONNX data type {tensor.data_type}, which is not read.", "Export the model in float32."
        )
    kind, field = TYPES[tensor.data_type]
    n = math.prod(dims)
    if tensor.data_location == EXTERNAL:
        array = _external(tensor, folder, kind, n)
    elif tensor.raw_data:
        array = np.frombuffer(tensor.raw_data, kind)
    else:
        array = _listed(getattr(tensor, field), kind)
    if min(dims, default=0) < 0 or array.size != n:
        raise refused(f"{name} has the shape {dims} and {array.size} numbers.", "Export the model again.")
    if tensor.data_type == BFLOAT16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    if array.dtype.kind == "f":
        array = array.astype(np.float32)
    elif array.dtype.kind == "u" and array.dtype.itemsize > 1:
        array = array.astype(np.int64)
    return torch.from_numpy(array.reshape(dims).copy())


def _listed(values: Any, kind: str) -> np.ndarray[Any, Any]:
    """Numbers of a repeated field; half precision is stored there as its bits."""
    listed = np.array(values)
    return listed.astype("<u2").view("<f2") if kind == "<f2" else listed.astype(kind)


def _external(tensor: Any, folder: Path, kind: str, n: int) -> np.ndarray[Any, Any]:
    """Numbers in a file next to the model, within its folder."""
    places = {pair.key: pair.value for pair in tensor.external_data}
    location = PurePosixPath(places.get("location", ""))
    path = folder / location
    if location.is_absolute() or ".." in location.parts or not path.is_file() or path.is_symlink():
        raise refused(
            f"{tensor.name} is in another file, {str(location)!r}, which is not there.",
            "Send a zip with the .onnx and its data file side by side, or export with external_data=False.",
        )
    size = n * np.dtype(kind).itemsize
    offset = int(places.get("offset", 0))
    if n < 0 or offset < 0 or offset + size > path.stat().st_size:
        raise refused(f"{location} is too short for {tensor.name}.", "Send the data file of this very export.")
    return np.fromfile(path, dtype=kind, count=n, offset=offset)
