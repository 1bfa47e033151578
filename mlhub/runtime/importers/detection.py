# SPDX-License-Identifier: Apache-2.0
"""What kind of model made elsewhere is in an unpacked upload, by content; names only distinguish a pair's files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mlhub.runtime.importers.graph import refused
from mlhub.runtime.model.file_signatures import HEAD_BYTES, kind_of_head

PROTOTXT_MAX_BYTES = 4 * 2**20
CAFFE_WEIGHTS = (".caffemodel", ".binaryproto")


class DetectedFormat(NamedTuple):
    format: str  # the key of an importer's reader
    files: tuple[Path, ...]


def detect(code: Path) -> DetectedFormat | None:
    """None when nothing here is of a known format. Raises BadInputError for several models, or half of one."""
    files = [path for path in sorted(code.rglob("*")) if path.is_file() and not _is_litter(path, code)]
    if (code / "config.json").is_file() and _is_keras_config(code / "config.json"):
        return _keras(code)
    if any(path.name == "data.pkl" and (path.parent / "data").is_dir() for path in files):
        raise _weights_only("This is a PyTorch file")
    found = [(kind, path) for path in files if (kind := kind_of(path)) is not None]
    kinds = {kind for kind, _ in found}
    if kinds & {"pickle", "safetensors"} and not kinds - {"pickle", "safetensors"}:
        raise _weights_only(f"{found[0][1].name} holds weights")
    if kinds & {"prototxt", "caffemodel"}:
        return _caffe([p for k, p in found if k == "prototxt"], [p for k, p in found if k == "caffemodel"])
    models = [(kind, path) for kind, path in found if kind in ("onnx", "keras_h5", "torch7")]
    if len(models) > 1:
        names = ", ".join(path.name for _, path in models[:5])
        raise refused(f"There are several models: {names}.", "Upload one at a time.")
    return DetectedFormat(models[0][0], (models[0][1],)) if models else None


def kind_of(path: Path) -> str | None:
    """Returns what kind_of_head() does, and also prototxt and caffemodel."""
    size = path.stat().st_size
    with path.open("rb") as file:
        kind = kind_of_head(file.read(HEAD_BYTES), size_bytes=size)
    if kind is None and path.suffix.lower() in CAFFE_WEIGHTS:
        return "caffemodel"  # protobuf begins with anything
    is_text = kind is None and path.suffix != ".py" and size <= PROTOTXT_MAX_BYTES and _is_prototxt(path)
    return "prototxt" if is_text else kind


def _is_prototxt(path: Path) -> bool:
    """Whether it reads as protobuf's text with layers in it."""
    try:
        text = path.read_text()
    except (UnicodeDecodeError, OSError):
        return False
    return re.search(r"^\s*layers?\s*:?\s*\{", text, re.MULTILINE) is not None


def _is_keras_config(path: Path) -> bool:
    if path.stat().st_size > 64 * 2**20:
        return False
    try:
        config = json.loads(path.read_text())
    except (ValueError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(config, dict) and "class_name" in config and "config" in config


def _keras(code: Path) -> DetectedFormat:
    weights = code / "model.weights.h5"
    if not weights.is_file():
        raise refused(
            "The Keras file has a config.json and no model.weights.h5.",
            "Save the whole model again, with model.save('model.keras') of Keras 3.",
        )
    return DetectedFormat("keras", (code / "config.json", weights))


def _caffe(texts: Sequence[Path], weights: Sequence[Path]) -> DetectedFormat:
    if len(texts) != 1 or len(weights) != 1:
        raise refused(
            f"A Caffe model is one .prototxt and one .caffemodel; there are {len(texts)} and {len(weights)}.",
            "Send a zip with both, the prototxt being the one for deployment (without solver and training nets).",
        )
    return DetectedFormat("caffe", (texts[0], weights[0]))


def _is_litter(path: Path, code: Path) -> bool:
    """What file managers leave in zips."""
    parts = path.relative_to(code).parts
    return "__MACOSX" in parts or path.name.startswith(".")


def _weights_only(what: str) -> Exception:
    return refused(
        f"{what}: weights, but no layers to put them into.",
        'Send a zip with model.py (build_model) and this file, and write INITIAL_WEIGHTS = "name of the file" in it; '
        "of a pickled model or TorchScript save its state_dict() first.",
    )
