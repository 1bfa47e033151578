"""The readers by format: each is given the files that detection found, and makes a Blueprint."""

from __future__ import annotations

from collections.abc import Callable

from mlhub.runtime.importers.caffe import reader as caffe
from mlhub.runtime.importers.graph import Blueprint
from mlhub.runtime.importers.keras import reader as keras
from mlhub.runtime.importers.onnx import reader as onnx
from mlhub.runtime.importers.torch7 import reader as torch7

READERS: dict[str, Callable[..., Blueprint]] = {
    "onnx": onnx.read,
    "caffe": caffe.read,
    "keras": keras.read,
    "keras_h5": keras.read_legacy,
    "torch7": torch7.read,
}
