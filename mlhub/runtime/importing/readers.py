"""The readers by format: each is given the files that detection found, and makes a Blueprint."""

from __future__ import annotations

from collections.abc import Callable

from mlhub.runtime.importing.caffe import reader as caffe
from mlhub.runtime.importing.graph import Blueprint
from mlhub.runtime.importing.keras import reader as keras
from mlhub.runtime.importing.onnx import reader as onnx
from mlhub.runtime.importing.torch7 import reader as torch7

READERS: dict[str, Callable[..., Blueprint]] = {
    "onnx": onnx.read,
    "caffe": caffe.read,
    "keras": keras.read,
    "keras_h5": keras.read_legacy,
    "torch7": torch7.read,
}
