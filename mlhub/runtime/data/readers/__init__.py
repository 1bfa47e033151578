# SPDX-License-Identifier: Apache-2.0
"""Datasets as tensors, one file a format: inspect() describes a file, open() gives its examples.

A format's reader is imported when it is used, so that no job loads the libraries of other formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from mlhub.runtime.data.node_cache import PREPARED_FOLDER, NodeCache
from mlhub.runtime.data.readers import prepared
from mlhub.runtime.data.readers.examples import Array, Examples, InspectionResult
from mlhub.runtime.data.readers.first_examples import FirstExamples
from mlhub.runtime.data.sampling import Indices
from mlhub.runtime.data.validation_options import check_validation
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.errors import BadInputError
from mlhub.wire.formats import FORMATS

if TYPE_CHECKING:
    from torch import Tensor


class Reader(Protocol):
    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        """Describes the file. Raises BadInputError naming field and remedy."""

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        """Opens all examples, by the schema that inspection found."""


@runtime_checkable
class NamedExamples(Protocol):
    """A reader whose examples have names."""

    def names(self, path: Path) -> list[str]:
        """In the order of the examples."""


@runtime_checkable
class MarkedExamples(Protocol):
    """A reader of files that mark held-out examples wherever they stand; in all others these are the last ones."""

    def held_out(self, path: Path, schema: Mapping[str, Any]) -> Array:
        """Whether each example is held out, bool, shape (examples,). The schema has a split."""


FACTS = (
    "task", "input_shape", "n_classes", "classes", "vocabulary_size", "context_length", "tokenizer",
    "bytes_per_token", "target_mean", "target_std", "input_mean", "input_std", "sample_rate",
)  # fmt: skip


def inspect(format: str, path: Path, options: Mapping[str, Any]) -> InspectionResult:
    """Describes a file. Raises BadInputError for an unknown format or an unusable file."""
    return _reader(format).inspect(path, options)


@dataclass(frozen=True)
class Split:
    """Training examples and held-out ones, as indices into `examples`."""

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
    validation: ValidationSplit,
    cache: NodeCache | None = None,
    sha256: str = "",
) -> Split:
    """Opens a dataset. Its own held-out part is used when it has one, else what the validation split holds out.

    cache: where large datasets are kept as mapped arrays; without one they are read into memory. sha256: of the file.
    """
    examples = open_all(format, path, schema, cache=cache, sha256=sha256)
    train, held_out = own_part(format, path, schema, n_examples=len(examples)) or indices_of(
        validation, examples, schema
    )
    return Split(examples, train, held_out, facts_of(schema))


def open_first(format: str, path: Path, schema: Mapping[str, Any], *, validation: ValidationSplit, n: int) -> Split:
    """open_split() for a dry run: of a large dataset only the first n training and held-out examples have inputs."""
    reader = _reader(format)
    if not isinstance(reader, prepared.PreparedParts) or not prepared.is_large(schema):
        return open_split(format, path, schema, validation=validation)
    examples = FirstExamples(reader, path, schema)
    train, held_out = own_part(format, path, schema, n_examples=len(examples)) or indices_of(
        validation, examples, schema
    )
    examples.choose(np.concatenate([train[:n], held_out[:n]]))
    return Split(examples, train, held_out, facts_of(schema))


def own_part(format: str, path: Path, schema: Mapping[str, Any], *, n_examples: int) -> tuple[Indices, Indices] | None:
    """Training and held-out indices where the dataset has a held-out part of its own; None where it has none."""
    own = int(schema.get("n_held_out") or 0)
    if not own:
        return None
    reader = _reader(format)
    if isinstance(reader, MarkedExamples):
        is_held_out = reader.held_out(path, schema)
        return np.flatnonzero(~is_held_out).astype(np.int64), np.flatnonzero(is_held_out).astype(np.int64)
    indices = np.arange(n_examples, dtype=np.int64)
    return indices[: n_examples - own], indices[n_examples - own :]


def indices_of(validation: ValidationSplit, examples: Examples, schema: Mapping[str, Any]) -> tuple[Indices, Indices]:
    """Training and held-out indices of a dataset without a held-out part of its own. Raises BadInputError."""
    check_validation(validation, schema, n_examples=len(examples))
    return validation.indices(
        len(examples), lambda: examples.targets(np.arange(len(examples), dtype=np.int64)).astype(np.int64)
    )


def facts_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a schema that a model may need."""
    return {name: schema[name] for name in FACTS if name in schema}


def names_of(format: str, path: Path) -> list[str] | None:
    """The names of the examples in their order; None for formats without names. Only pictures have some."""
    reader = _reader(format)
    return reader.names(path) if isinstance(reader, NamedExamples) else None


def prepare(format: str, path: Path, schema: Mapping[str, Any], *, sha256: str) -> None:
    """Writes a large dataset as mapped arrays next to its file, before pods start that may not write there."""
    reader = _reader(format)
    if isinstance(reader, prepared.PreparedParts) and prepared.is_large(schema):
        cache = NodeCache(path.parent / PREPARED_FOLDER)
        cache.get(prepared.key(sha256, schema), lambda folder: prepared.write(reader, path, schema, folder))
        cache.close()


def open_all(
    format: str, path: Path, schema: Mapping[str, Any], *, cache: NodeCache | None = None, sha256: str = ""
) -> Examples:
    """Opens every example in the order of the dataset: open_split() without a held-out part."""
    reader = _reader(format)
    if cache is None or not isinstance(reader, prepared.PreparedParts) or not prepared.is_large(schema):
        return reader.open(path, schema)
    name = prepared.key(sha256, schema)
    shared = path.parent / PREPARED_FOLDER / name
    if shared.is_dir():
        return prepared.read(reader, schema, shared)
    written = cache.get(name, lambda folder: prepared.write(reader, path, schema, folder))
    return prepared.read(reader, schema, written)


def _reader(format: str) -> Reader:
    """The reader that wire/formats.py names. Raises BadInputError for an unknown format."""
    if format not in FORMATS:
        raise BadInputError(f"The format {format} is unknown.", field="format", remedy=f"Known: {', '.join(FORMATS)}.")
    module, _, attribute = FORMATS[format].reader.partition(":")
    reader: Reader = getattr(import_module(f"{__name__}.{module}"), attribute)
    return reader
