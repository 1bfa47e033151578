"""Datasets as tensors, one file a format. Each says what is in a file (inspect) and gives its examples (open)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.readers import image_folder, prepared
from mlhub.runtime.data.readers.examples import Examples, InspectionResult
from mlhub.runtime.data.sampling import Indices, split
from mlhub.runtime.errors import BadInputError
from mlhub.wire.formats import FORMATS


class Reader(Protocol):
    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        """What the file holds. Raises BadInputError naming field and remedy."""

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        """All examples, as inspection described them."""


BESIDE = "prepared"  # folder beside inputs that pods share
FACTS = (
    "task", "input_shape", "n_classes", "classes", "vocabulary_size", "context_length", "tokenizer",
    "bytes_per_token", "target_mean", "target_std", "input_mean", "input_std",
)  # fmt: skip


def inspect(format: str, path: Path, options: Mapping[str, Any]) -> InspectionResult:
    """Raises BadInputError for an unknown format or an unusable file."""
    return _reader(format).inspect(path, options)


@dataclass(frozen=True)
class Split:
    """Examples to train on and held-out ones. Indices point into `examples`."""

    examples: Examples
    train: Indices
    held_out: Indices
    facts: Mapping[str, Any] = field(default_factory=dict)  # what a model may need: input_shape, n_classes ...

    def batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        return self.examples.batch(indices)


def open_split(
    format: str,
    path: Path,
    schema: Mapping[str, Any],
    *,
    evaluation_fraction: float,
    cache: NodeCache | None = None,
    sha256: str = "",
) -> Split:
    """The dataset's own held-out part when it has one, else a fixed random one of that size.

    cache: where large ones are kept to be mapped; without one they are read into memory. sha256: of the file.
    """
    examples = open_all(format, path, schema, cache=cache, sha256=sha256)
    own = schema.get("n_held_out", 0)
    if own:
        n_train = len(examples) - own
        train, held_out = np.arange(n_train, dtype=np.int64), np.arange(n_train, len(examples), dtype=np.int64)
    else:
        train, held_out = split(len(examples), evaluation_fraction=evaluation_fraction)
    return Split(examples, train, held_out, facts_of(schema))


def facts_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a model may need to know of its dataset."""
    return {name: schema[name] for name in FACTS if name in schema}


def names_of(format: str, path: Path) -> list[str] | None:
    """Of the examples, in their order, where they have any: image files."""
    return image_folder.READER.names(path) if format == "image_folder" else None


def prepare(format: str, path: Path, schema: Mapping[str, Any], *, sha256: str) -> None:
    """Before a pod that may not write there begins: a large dataset, ready to be mapped, beside its file."""
    reader = _reader(format)
    if isinstance(reader, prepared.PreparedParts) and prepared.is_large(schema):
        cache = NodeCache(path.parent / BESIDE)
        cache.get(prepared.key(sha256, schema), lambda folder: prepared.write(reader, path, schema, folder))
        cache.close()


def open_all(
    format: str, path: Path, schema: Mapping[str, Any], *, cache: NodeCache | None = None, sha256: str = ""
) -> Examples:
    """Every example, in the order of the dataset; as open_split, without one part held out."""
    reader = _reader(format)
    if cache is None or not isinstance(reader, prepared.PreparedParts) or not prepared.is_large(schema):
        return reader.open(path, schema)
    name = prepared.key(sha256, schema)
    beside = path.parent / BESIDE / name
    if beside.is_dir():
        return prepared.read(beside)
    return prepared.read(cache.get(name, lambda folder: prepared.write(reader, path, schema, folder)))


def _reader(format: str) -> Reader:
    """The reader that wire/formats.py names. Raises BadInputError for an unknown format."""
    if format not in FORMATS:
        raise BadInputError(f"The format {format} is unknown.", field="format", remedy=f"Known: {', '.join(FORMATS)}.")
    module, _, attribute = FORMATS[format].reader.partition(":")
    reader: Reader = getattr(import_module(f"{__name__}.{module}"), attribute)
    return reader
