# SPDX-License-Identifier: Apache-2.0
"""Datasets larger than memory: written once, part by part, as arrays that are mapped and read where they are needed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mlhub.runtime.data.readers.examples import Array, Examples

SMALL_BYTES = 32 * 2**20  # up to here a dataset is simply read
VERSION = 1  # of what is written


@runtime_checkable
class PreparedParts(Protocol):
    """A reader that can give its examples part by part, so that they need not fit into memory."""

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        """(inputs, targets) of some examples each, in the order of open()."""

    def scale(self, schema: Mapping[str, Any]) -> float:
        """Of the inputs, as Examples takes it."""


@runtime_checkable
class KeptExamples(Protocol):
    """A reader whose parts are not the inputs themselves, but what they are made of batch by batch."""

    def examples(self, inputs: Array, targets: Array, schema: Mapping[str, Any]) -> Examples:
        """The examples of parts() that were put together, or are mapped."""


def is_large(schema: Mapping[str, Any]) -> bool:
    """Whether it is written as arrays. Images that are decoded when they are read stay in their archive."""
    if schema.get("decoding"):
        return False
    # a text that is read in another one's vocabulary has a number of examples only once it is read
    n_values: int = int(schema.get("n_examples") or 0) * math.prod(schema["input_shape"])
    value_bytes = 1 if "n_sizes" in schema or schema.get("dtype") == "uint8" else 4
    return n_values * value_bytes > SMALL_BYTES


def key(sha256: str, schema: Mapping[str, Any]) -> str:
    """Names what is made of a file by its content, and by all that is known of how to read it."""
    described = json.dumps(schema, sort_keys=True)
    return f"{sha256}-{hashlib.sha256(f'{VERSION}|{described}'.encode()).hexdigest()}"


def write(reader: PreparedParts, path: Path, schema: Mapping[str, Any], folder: Path) -> None:
    """Into an empty folder. Raises what the reader raises."""
    n, written = int(schema["n_examples"]), 0
    out: list[Any] = []
    for both in reader.parts(path, schema):
        if not out:
            for name, part in zip(("inputs", "targets"), both, strict=True):
                out.append(
                    np.lib.format.open_memmap(
                        folder / f"{name}.npy", mode="w+", dtype=part.dtype, shape=(n, *part.shape[1:])
                    )
                )
        end = written + len(both[0])
        for array, part in zip(out, both, strict=True):
            array[written:end] = part
        written = end
    if written != n:
        raise ValueError(f"the file has {written} examples, not {n}")
    for array in out:
        array.flush()
    (folder / "scale.json").write_text(json.dumps(reader.scale(schema)))


def read(reader: PreparedParts, schema: Mapping[str, Any], folder: Path) -> Examples:
    """What write() left, mapped, not loaded."""
    inputs, targets = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("inputs", "targets"))
    if isinstance(reader, KeptExamples):
        return reader.examples(inputs, targets, schema)
    return Examples(inputs, targets, scale=json.loads((folder / "scale.json").read_text()))
