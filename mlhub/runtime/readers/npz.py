"""NumPy archives: arrays x (n, ...) and y (n,), optionally x_test and y_test; nothing pickled."""

from __future__ import annotations

import base64
import io
import math
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from mlhub.runtime.archives import open_archive
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.readers.examples import Array, Examples, Found

LAYOUT = "An NPZ needs arrays x (n, ...) and y (n,); x_test and y_test may hold the held-out part."
N_PREVIEW = 12
PART_BYTES = 8 * 2**20


class NpzReader:
    def inspect(self, path: Path, options: Mapping[str, Any]) -> Found:  # noqa: ARG002 (the protocol's signature)
        arrays = _load(path)
        x, y = _joined(arrays)
        n_held_out = len(arrays["x_test"]) if "x_test" in arrays else 0
        schema: dict[str, Any] = {
            "n_examples": len(x),
            "n_held_out": n_held_out,
            "input_shape": list(x.shape[1:]) or [1],
            "dtype": str(x.dtype),
        }
        if np.issubdtype(y.dtype, np.integer) or y.dtype == np.bool_:
            classes = np.unique(y)
            if len(classes) < 2:
                raise BadInputError(
                    "y has one value only.", field="y", remedy="Give at least two classes, or a float target."
                )
            counts = [int((y == c).sum()) for c in classes] if len(classes) <= 1000 else []
            schema |= {"task": "classification", "n_classes": len(classes), "classes": [int(c) for c in classes]}
            schema |= {"class_counts": counts}
        else:
            schema |= {"task": "regression", "target_mean": float(y.mean()), "target_std": float(y.std())}
        return Found(schema, _preview(x, y))

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        x, y = _joined(_load(path))
        return Examples(_column(x), _numbered(y, schema), scale=self.scale(schema))

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        with open_archive(path) as archive:
            there = {name.removesuffix(".npy") for name in archive.namelist()}
            for x_name, y_name in (("x", "y"), ("x_test", "y_test")):
                if x_name not in there:
                    continue
                with archive.open(f"{y_name}.npy") as file:
                    y = _numbered(np.lib.format.read_array(file), schema)
                start = 0
                for x in _streamed(archive, f"{x_name}.npy"):
                    yield _column(x), y[start : start + len(x)]
                    start += len(x)

    def scale(self, schema: Mapping[str, Any]) -> float:
        is_image = schema["dtype"] == "uint8" and len(schema["input_shape"]) > 1
        return 255.0 if is_image else 1.0


READER = NpzReader()


def _column(x: Array) -> Array:
    return x[:, None] if x.ndim == 1 else x


def _numbered(y: Array, schema: Mapping[str, Any]) -> Array:
    """Classes by their numbers; floats as they are."""
    if schema["task"] == "classification":
        return np.searchsorted(np.asarray(schema["classes"]), y.astype(np.int64))
    return y


def _streamed(archive: zipfile.ZipFile, member: str) -> Iterator[Array]:
    """An array of the archive, some megabytes of rows at a time."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        reads = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = reads(file)
    with archive.open(member) as file:
        if is_fortran or dtype.hasobject:  # columns first: its rows are not together
            yield np.lib.format.read_array(file, allow_pickle=False)
            return
        np.lib.format.read_magic(file)
        reads(file)
        row_bytes = dtype.itemsize * math.prod(shape[1:])
        n_rows = max(1, PART_BYTES // max(1, row_bytes))
        for start in range(0, shape[0], n_rows):
            n = min(n_rows, shape[0] - start)
            yield np.frombuffer(file.read(n * row_bytes), dtype=dtype).reshape(n, *shape[1:])


def _load(path: Path) -> dict[str, Array]:
    with open_archive(path) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
    for name in ("x", "y"):
        if name not in names:
            raise BadInputError(
                f"The array {name} is missing; there are {', '.join(sorted(names)) or 'none'}.",
                field=name,
                remedy=LAYOUT,
            )
    wanted: list[str] = [name for name in ("x", "y", "x_test", "y_test") if name in names]
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays: dict[str, Array] = {name: archive[name] for name in wanted}
    except (ValueError, OSError, KeyError, EOFError) as error:
        raise BadInputError(
            f"The arrays cannot be read: {error}.",
            field="file",
            remedy="Save plain number arrays with numpy.savez; objects are not accepted.",
        ) from error
    for name, array in arrays.items():
        _check(name, array)
    for x, y in (("x", "y"), ("x_test", "y_test")):
        if (x in arrays) != (y in arrays) or (x in arrays and len(arrays[x]) != len(arrays[y])):
            raise BadInputError(f"{x} and {y} do not have the same number of examples.", field=y, remedy=LAYOUT)
    if "x_test" in arrays and arrays["x_test"].shape[1:] != arrays["x"].shape[1:]:
        raise BadInputError("x_test has another shape than x.", field="x_test", remedy=LAYOUT)
    if len(arrays["x"]) < 2:
        raise BadInputError("There are fewer than two examples.", field="x", remedy="Give at least two.")
    return arrays


def _check(name: str, array: Array) -> None:
    if array.ndim == 0 or array.dtype.kind not in "fiub":
        raise BadInputError(f"{name} is {array.dtype} of shape {array.shape}.", field=name, remedy=LAYOUT)
    if name.startswith("y") and array.ndim != 1:
        raise BadInputError(f"{name} has the shape {array.shape}, not (n,).", field=name, remedy=LAYOUT)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise BadInputError(
            f"{name} has values that are NaN or infinite.", field=name, remedy="Remove or replace them."
        )


def _joined(arrays: dict[str, Array]) -> tuple[Array, Array]:
    """Training examples first, then the held-out ones."""
    if "x_test" not in arrays:
        return arrays["x"], arrays["y"]
    return np.concatenate([arrays["x"], arrays["x_test"]]), np.concatenate([arrays["y"], arrays["y_test"]])


def _preview(x: Array, y: Array) -> dict[str, Any]:
    chosen = np.linspace(0, len(x) - 1, min(N_PREVIEW, len(x))).astype(int)
    if x.ndim == 4 and x.shape[1] in (1, 3) and max(x.shape[2:]) <= 256:
        top = 255.0 if x.dtype == np.uint8 or x[chosen].max() > 1.5 else 1.0
        images = [{"label": str(y[i]), "png_base64": png(np.moveaxis(x[i], 0, -1) / top)} for i in chosen]
        return {"kind": "images", "images": images}
    flat = x.reshape(len(x), -1)[:, :8]
    rows = [[*(f"{v:.4g}" for v in flat[i]), str(y[i])] for i in chosen]
    return {"kind": "table", "columns": [*(f"x[{i}]" for i in range(flat.shape[1])), "y"], "rows": rows}


def png(pixels: Array) -> str:
    """pixels: (height, width, 1 or 3) in 0..1. A PNG in base64."""
    image = Image.fromarray(np.squeeze((np.clip(pixels, 0, 1) * 255).astype(np.uint8)))
    out = io.BytesIO()
    image.save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()
