# SPDX-License-Identifier: Apache-2.0
"""NumPy archives: arrays x (n, ...) and y (n,), optionally x_test and y_test; nothing pickled."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlhub.runtime.data.archives import open_archive
from mlhub.runtime.data.moments import Moments, training_mask
from mlhub.runtime.data.readers.examples import Array, Examples, InspectionResult, no_targets, wants_targets
from mlhub.runtime.errors import BadInputError

LAYOUT = "An NPZ needs arrays x (n, ...) and y (n,); x_test and y_test may hold the held-out part."
AGAIN = "Save plain number arrays with numpy.savez; objects are not accepted."
N_PREVIEW = 12
PART_BYTES = 8 * 2**20
UNREADABLE = (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile)


class NpzReader:
    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        """Reads x part by part, so that it may be larger than memory; y whole."""
        has_targets = wants_targets(options)
        with open_archive(path) as archive:
            heads = _heads(archive, has_targets=has_targets)
            y = _all_targets(archive, heads, has_targets=has_targets)
            n_held_out = heads["x_test"].shape[0] if "x_test" in heads else 0
            shape, dtype = list(heads["x"].shape[1:]) or [1], heads["x"].dtype
            is_trained = training_mask(len(y), n_held_out=n_held_out)
            schema: dict[str, Any] = {
                "n_examples": len(y),
                "n_held_out": n_held_out,
                "input_shape": shape,
                "dtype": str(dtype),
                **(_task(y, is_trained) if has_targets else {"task": "none"}),
            }
            moments = Moments(shape, is_trained)
            shown = _Sample(np.linspace(0, len(y) - 1, min(N_PREVIEW, len(y))).astype(int))
            for name in ("x", "x_test"):
                for x in _streamed(archive, f"{name}.npy") if name in heads else ():
                    _check_finite(name, x)
                    moments.add(_column(x))
                    shown.add(x)
        schema |= moments.facts(scale=self.scale(schema)) if has_targets else {}
        return InspectionResult(schema, _preview(np.stack(shown.rows), y[shown.chosen] if has_targets else None))

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        x, y = _joined(_load(path, has_targets=schema.get("has_targets", True)))
        return Examples(_column(x), _numbered(y, schema), scale=self.scale(schema))

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        with open_archive(path) as archive:
            there = {name.removesuffix(".npy") for name in archive.namelist()}
            for x_name, y_name in (("x", "y"), ("x_test", "y_test")):
                if x_name not in there:
                    continue
                y = _targets(archive, y_name, schema)
                start = 0
                for x in _streamed(archive, f"{x_name}.npy"):
                    yield _column(x), no_targets(len(x)) if y is None else y[start : start + len(x)]
                    start += len(x)

    def scale(self, schema: Mapping[str, Any]) -> float:
        is_image = schema["dtype"] == "uint8" and len(schema["input_shape"]) > 1
        return 255.0 if is_image else 1.0


READER = NpzReader()


def _column(x: Array) -> Array:
    return x[:, None] if x.ndim == 1 else x


def _numbered(y: Array, schema: Mapping[str, Any]) -> Array:
    """Classes by their numbers; numbers as floats."""
    if not schema.get("has_targets", True):
        return y
    if schema["task"] == "classification":
        return np.searchsorted(np.asarray(schema["classes"]), y.astype(np.int64))
    return y if y.dtype.kind == "f" else y.astype(np.float32)


def _targets(archive: zipfile.ZipFile, name: str, schema: Mapping[str, Any]) -> Array | None:
    if not schema.get("has_targets", True):
        return None
    with archive.open(f"{name}.npy") as file:
        return _numbered(np.lib.format.read_array(file), schema)


def _all_targets(archive: zipfile.ZipFile, heads: Mapping[str, _Head], *, has_targets: bool) -> Array:
    if not has_targets:
        return no_targets(sum(head.shape[0] for head in heads.values()))
    return np.concatenate([_read(archive, name) for name in ("y", "y_test") if name in heads])


def _streamed(archive: zipfile.ZipFile, member: str) -> Iterator[Array]:
    """An array of the archive, some megabytes of rows at a time; whole where columns come first."""
    try:
        with archive.open(member) as file:
            shape, is_fortran, dtype = _header(file)
            if is_fortran or dtype.hasobject:  # its rows are not together
                file.seek(0)
                yield np.lib.format.read_array(file, allow_pickle=False)
                return
            row_bytes = dtype.itemsize * math.prod(shape[1:])
            n_rows = max(1, PART_BYTES // max(1, row_bytes))
            for start in range(0, shape[0], n_rows):
                n = min(n_rows, shape[0] - start)
                yield np.frombuffer(file.read(n * row_bytes), dtype=dtype).reshape(n, *shape[1:])
    except UNREADABLE as error:
        raise _unreadable(error) from error


@dataclass(frozen=True)
class _Head:
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class _Sample:
    """Picks the rows that are chosen out of parts that come one after the other."""

    def __init__(self, chosen: Array) -> None:
        self.chosen, self.rows = chosen, list[Array]()
        self._seen = 0

    def add(self, part: Array) -> None:
        inside = self.chosen[(self.chosen >= self._seen) & (self.chosen < self._seen + len(part))]
        self.rows += [part[i - self._seen].copy() for i in inside]
        self._seen += len(part)


def _heads(archive: zipfile.ZipFile, *, has_targets: bool) -> dict[str, _Head]:
    """What arrays there are, read off their headers; without targets only x. Raises BadInputError when they are no
    examples and targets."""
    names = {name.removesuffix(".npy") for name in archive.namelist()}
    for name in ("x", "y") if has_targets else ("x",):
        if name not in names:
            hint = " To predict on it only, say targets=none." if name == "y" else ""
            raise BadInputError(
                f"The array {name} is missing; there are {', '.join(sorted(names)) or 'none'}.",
                field=name,
                remedy=LAYOUT + hint,
            )
    wanted = ("x", "y", "x_test", "y_test") if has_targets else ("x", "x_test")
    heads = {name: _head(archive, name) for name in wanted if name in names}
    for x, y in (("x", "y"), ("x_test", "y_test")) if has_targets else ():
        if (x in heads) != (y in heads) or (x in heads and heads[x].shape[0] != heads[y].shape[0]):
            raise BadInputError(f"{x} and {y} do not have the same number of examples.", field=y, remedy=LAYOUT)
    if "x_test" in heads and heads["x_test"].shape[1:] != heads["x"].shape[1:]:
        raise BadInputError("x_test has another shape than x.", field="x_test", remedy=LAYOUT)
    if heads["x"].shape[0] < (2 if has_targets else 1):
        raise BadInputError("There are too few examples.", field="x", remedy="Give at least two; to predict, one.")
    return heads


def _head(archive: zipfile.ZipFile, name: str) -> _Head:
    try:
        with archive.open(f"{name}.npy") as file:
            shape, _, dtype = _header(file)
    except UNREADABLE as error:
        raise _unreadable(error) from error
    if any(n < 0 for n in shape):
        raise BadInputError(f"{name} says that it has the shape {shape}.", field=name, remedy=AGAIN)
    if not shape or dtype.kind not in "fiub":
        raise BadInputError(f"{name} is {dtype} of shape {shape}.", field=name, remedy=LAYOUT)
    if name.startswith("y") and len(shape) != 1:
        raise BadInputError(f"{name} has the shape {shape}, not (n,).", field=name, remedy=LAYOUT)
    return _Head(shape, dtype)


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type; the file is then at the values."""
    version = np.lib.format.read_magic(file)
    reads = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    found: tuple[tuple[int, ...], bool, np.dtype[Any]] = reads(file)
    return found


def _read(archive: zipfile.ZipFile, name: str) -> Array:
    try:
        with archive.open(f"{name}.npy") as file:
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
    except UNREADABLE as error:
        raise _unreadable(error) from error
    _check_finite(name, array)
    return array


def _check_finite(name: str, array: Array) -> None:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise BadInputError(
            f"{name} has values that are NaN or infinite.", field=name, remedy="Remove or replace them."
        )


def _unreadable(error: Exception) -> BadInputError:
    words = str(error).rstrip(".")
    if " object at 0x" in words:  # of Python's own words for what is in a header
        words = "the header of one is damaged"
    return BadInputError(f"The arrays cannot be read: {words}.", field="file", remedy=AGAIN)


def _task(y: Array, is_trained: Array) -> dict[str, Any]:
    """The kind of target. is_trained: which examples count for the mean and the deviation of a regression."""
    if not (np.issubdtype(y.dtype, np.integer) or y.dtype == np.bool_):
        own = y[is_trained].astype(np.float64)
        return {"task": "regression", "target_mean": float(own.mean()), "target_std": float(own.std())}
    classes = np.unique(y)
    if len(classes) < 2:
        raise BadInputError("y has one value only.", field="y", remedy="Give at least two classes, or a float target.")
    counts = [int((y == c).sum()) for c in classes] if len(classes) <= 1000 else []
    return {
        "task": "classification",
        "n_classes": len(classes),
        "classes": [int(c) for c in classes],
        "class_counts": counts,
    }


def _load(path: Path, *, has_targets: bool) -> dict[str, Array]:
    """With zeros in the place of targets that are not wanted."""
    with open_archive(path) as archive:
        found = {name: _read(archive, name) for name in _heads(archive, has_targets=has_targets)}
    if not has_targets:
        found |= {name.replace("x", "y", 1): no_targets(len(array)) for name, array in found.items()}
    return found


def _joined(arrays: dict[str, Array]) -> tuple[Array, Array]:
    """Training examples first, then the held-out ones."""
    if "x_test" not in arrays:
        return arrays["x"], arrays["y"]
    return np.concatenate([arrays["x"], arrays["x_test"]]), np.concatenate([arrays["y"], arrays["y_test"]])


def _preview(x: Array, y: Array | None) -> dict[str, Any]:
    """Of some chosen examples; y None: without targets."""
    labels = [""] * len(x) if y is None else [str(label) for label in y]
    if x.ndim == 4 and x.shape[1] in (1, 3) and max(x.shape[2:]) <= 256:
        from mlhub.runtime.data.readers.previews import png  # late: pods make no previews

        top = 255.0 if x.dtype == np.uint8 or x.max() > 1.5 else 1.0
        images = [
            {"label": label, "png_base64": png(np.moveaxis(each, 0, -1) / top)}
            for each, label in zip(x, labels, strict=True)
        ]
        return {"kind": "images", "images": images}
    flat = x.reshape(len(x), -1)[:, :8]
    columns = [f"x[{i}]" for i in range(flat.shape[1])]
    rows = [[f"{v:.4g}" for v in row] for row in flat]
    if y is not None:
        columns, rows = [*columns, "y"], [[*row, label] for row, label in zip(rows, labels, strict=True)]
    return {"kind": "table", "columns": columns, "rows": rows}
