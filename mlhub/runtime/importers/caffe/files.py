# SPDX-License-Identifier: Apache-2.0
"""Caffe's files: messages by the field numbers of caffe.proto, text and binary, the old layers made new.

Source: github.com/BVLC/caffe, src/caffe/proto/caffe.proto, and src/caffe/util/upgrade_proto.cpp for old layers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from torch import Tensor

from mlhub.runtime.importers.graph import refused
from mlhub.runtime.importers.messages import declared

MAX_TEXT_BYTES = 4 * 2**20
TRAIN, TEST = 0, 1
PARAMETERS = """
    {concat} concat_param Concat
    {convolution} convolution_param Convolution
    {dropout} dropout_param Dropout
    {eltwise} eltwise_param Eltwise
    {inner} inner_product_param InnerProduct
    {lrn} lrn_param Lrn
    {pooling} pooling_param Pooling
    {power} power_param Power
    {relu} relu_param Relu
    {softmax} softmax_param Softmax
    {slice} slice_param Slice
"""
NUMBERS = {"concat": 104, "convolution": 106, "dropout": 108, "eltwise": 110, "inner": 117, "lrn": 118, "pooling": 121,
           "power": 122, "relu": 123, "softmax": 125, "slice": 126}  # fmt: skip
V1_NUMBERS = {"concat": 9, "convolution": 10, "dropout": 12, "eltwise": 24, "inner": 17, "lrn": 18, "pooling": 19,
              "power": 21, "relu": 30, "softmax": 39, "slice": 31}  # fmt: skip
V1_TYPES = {
    "NONE": 0, "ACCURACY": 1, "BNLL": 2, "CONCAT": 3, "CONVOLUTION": 4, "DATA": 5, "DROPOUT": 6, "EUCLIDEAN_LOSS": 7,
    "FLATTEN": 8, "HDF5_DATA": 9, "HDF5_OUTPUT": 10, "IM2COL": 11, "IMAGE_DATA": 12, "INFOGAIN_LOSS": 13,
    "INNER_PRODUCT": 14, "LRN": 15, "MULTINOMIAL_LOGISTIC_LOSS": 16, "POOLING": 17, "RELU": 18, "SIGMOID": 19,
    "SOFTMAX": 20, "SOFTMAX_LOSS": 21, "SPLIT": 22, "TANH": 23, "WINDOW_DATA": 24, "ELTWISE": 25, "POWER": 26,
    "SIGMOID_CROSS_ENTROPY_LOSS": 27, "HINGE_LOSS": 28, "MEMORY_DATA": 29, "ARGMAX": 30, "THRESHOLD": 31,
    "DUMMY_DATA": 32, "SLICE": 33, "MVN": 34, "ABSVAL": 35, "SILENCE": 36, "CONTRASTIVE_LOSS": 37, "EXP": 38,
    "DECONVOLUTION": 39,
}  # fmt: skip
NAMES = {  # of old types whose new ones are not their words put together
    "BNLL": "BNLL", "LRN": "LRN", "MVN": "MVN", "RELU": "ReLU", "TANH": "TanH", "ABSVAL": "AbsVal",
    "SOFTMAX_LOSS": "SoftmaxWithLoss", "HDF5_DATA": "HDF5Data", "HDF5_OUTPUT": "HDF5Output", "ARGMAX": "ArgMax",
}  # fmt: skip
MESSAGES = declared(
    "mlhub_caffe",
    {
        "BlobShape": "1 dim int64*",
        "Blob": """
            1 num int32 = 0
            2 channels int32 = 0
            3 height int32 = 0
            4 width int32 = 0
            5 data float*
            7 shape BlobShape
            8 double_data double*
        """,
        "Rule": "1 phase Phase",
        "Layer": """
            1 name string
            2 type string
            3 bottom string*
            4 top string*
            7 blobs Blob*
            8 include Rule*
            9 exclude Rule*
            10 phase Phase
            139 batch_norm_param BatchNorm
            141 bias_param Axes
            142 scale_param Scale
            140 elu_param Elu
            131 prelu_param Prelu
            133 reshape_param Reshape
            135 flatten_param Flatten
            143 input_param Input
        """
        + PARAMETERS.format(**NUMBERS),
        "OldLayer": """
            4 name string
            5 type OldType
            2 bottom string*
            3 top string*
            6 blobs Blob*
            32 include Rule*
            33 exclude Rule*
        """
        + PARAMETERS.format(**V1_NUMBERS),
        "Net": """
            1 name string
            2 layers OldLayer*
            3 input string*
            4 input_dim int32*
            8 input_shape BlobShape*
            100 layer Layer*
        """,
        "Concat": "1 concat_dim uint32 = 1\n 2 axis int32 = 1",
        "Convolution": """
            1 num_output uint32
            2 bias_term bool = true
            3 pad uint32*
            4 kernel_size uint32*
            5 group uint32 = 1
            6 stride uint32*
            9 pad_h uint32 = 0
            10 pad_w uint32 = 0
            11 kernel_h uint32
            12 kernel_w uint32
            13 stride_h uint32
            14 stride_w uint32
            16 axis int32 = 1
            18 dilation uint32*
        """,
        "Dropout": "1 dropout_ratio float = 0.5",
        "Eltwise": "1 operation Operation = SUM\n 2 coeff float*",
        "InnerProduct": "1 num_output uint32\n 2 bias_term bool = true\n 5 axis int32 = 1\n 6 transpose bool = false",
        "Lrn": """
            1 local_size uint32 = 5
            2 alpha float = 1
            3 beta float = 0.75
            4 norm_region Region = ACROSS_CHANNELS
            5 k float = 1
        """,
        "Pooling": """
            1 pool Pool = MAX
            2 kernel_size uint32
            3 stride uint32 = 1
            4 pad uint32 = 0
            5 kernel_h uint32
            6 kernel_w uint32
            7 stride_h uint32
            8 stride_w uint32
            9 pad_h uint32 = 0
            10 pad_w uint32 = 0
            12 global_pooling bool = false
            13 round_mode RoundMode = CEIL
        """,
        "Power": "1 power float = 1\n 2 scale float = 1\n 3 shift float = 0",
        "Relu": "1 negative_slope float = 0",
        "Softmax": "2 axis int32 = 1",
        "Slice": "1 slice_dim uint32 = 1\n 2 slice_point uint32*\n 3 axis int32 = 1",
        "BatchNorm": "1 use_global_stats bool\n 2 moving_average_fraction float = 0.999\n 3 eps float = 0.00001",
        "Axes": "1 axis int32 = 1\n 2 num_axes int32 = 1",
        "Scale": "1 axis int32 = 1\n 2 num_axes int32 = 1\n 4 bias_term bool = false",
        "Elu": "1 alpha float = 1",
        "Prelu": "2 channel_shared bool = false",
        "Reshape": "1 shape BlobShape\n 2 axis int32 = 0\n 3 num_axes int32 = -1",
        "Flatten": "1 axis int32 = 1\n 2 end_axis int32 = -1",
        "Input": "1 shape BlobShape*",
    },
    {
        "Phase": {"TRAIN": TRAIN, "TEST": TEST},
        "OldType": V1_TYPES,
        "Operation": {"PROD": 0, "SUM": 1, "MAX": 2},
        "Region": {"ACROSS_CHANNELS": 0, "WITHIN_CHANNEL": 1},
        "Pool": {"MAX": 0, "AVE": 1, "STOCHASTIC": 2},
        "RoundMode": {"CEIL": 0, "FLOOR": 1},
    },
)


def net_of(path: Path) -> Any:
    """The net of a prototxt, its old layers made new. Raises BadInputError."""
    if path.stat().st_size > MAX_TEXT_BYTES:
        raise refused(f"{path.name} has more than {MAX_TEXT_BYTES:,} bytes.", "Send the net's text, without weights.")
    net = MESSAGES["Net"]()
    try:
        text_format.Parse(path.read_text(), net, allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise refused(f"{path.name} is no net of Caffe: {error}.", "Send the prototxt for deployment.") from error
    return net


def layers_of(net: Any) -> list[Any]:
    """Those that are there in the phase TEST."""
    return [layer for layer in [*map(_renewed, net.layers), *net.layer] if _is_there(layer)]


def weights_of(path: Path) -> dict[str, list[Tensor]]:
    """The blobs of each layer, by its name. Raises BadInputError."""
    net = MESSAGES["Net"]()
    try:
        net.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise refused(f"{path.name} is no whole caffemodel: {error}.", "Copy it again.") from error
    return {layer.name: [_tensor(blob, layer.name) for blob in layer.blobs] for layer in [*net.layers, *net.layer]}


def input_shape_of(net: Any, layers: Iterable[Any]) -> tuple[str, tuple[int | None, ...] | None]:
    """The input's name, and its shape without the batch, where declared. Raises BadInputError for several."""
    given = [(name, ()) for name in net.input]
    dims = [list(shape.dim) for shape in net.input_shape] or [list(net.input_dim[:4])] * bool(net.input_dim)
    for layer in layers:
        if layer.type == "Input":
            given += [(top, ()) for top in layer.top]
            dims += [list(shape.dim) for shape in layer.input_param.shape]
    if len(given) == 1:
        return given[0][0], tuple(int(n) if n > 0 else None for n in dims[0][1:]) if dims else None
    if given:
        names = ", ".join(name for name, _ in given)
        raise refused(f"The net has several inputs: {names}.", "Send a net with one.")
    return "data", None  # a net for training: its data layer gives data


def _renewed(old: Any) -> Any:
    layer = MESSAGES["Layer"](name=old.name, bottom=old.bottom, top=old.top)
    word = next((word for word, number in V1_TYPES.items() if number == old.type), "NONE")
    layer.type = NAMES.get(word) or "".join(part.capitalize() for part in word.split("_"))
    layer.include.extend(old.include)
    layer.exclude.extend(old.exclude)
    for field, value in old.ListFields():
        if field.name.endswith("_param"):
            getattr(layer, field.name).CopyFrom(value)
    return layer


def _is_there(layer: Any) -> bool:
    phases = [rule.phase for rule in layer.include if rule.HasField("phase")]
    without = [rule.phase for rule in layer.exclude if rule.HasField("phase")]
    return (not phases or TEST in phases) and TEST not in without


def _tensor(blob: Any, name: str) -> Tensor:
    old = [blob.num, blob.channels, blob.height, blob.width]
    shape = [int(n) for n in (blob.shape.dim if blob.HasField("shape") else old)]
    array = np.array(blob.double_data if blob.double_data else blob.data, np.float32)
    if min(shape, default=0) < 0 or math.prod(shape) != array.size:
        raise refused(f"A blob of {name} has the shape {shape} and {array.size} numbers.", "Copy the file again.")
    return torch.from_numpy(array.reshape(shape))
