# SPDX-License-Identifier: Apache-2.0
"""Writes the output parts of a prediction into one file to download: Parquet, part by part, or an NPZ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mlhub.runtime.prediction.inference import PREDICTION, PROBABILITIES
from mlhub.runtime.prediction.output_parts import OutputParts, save_arrays
from mlhub.runtime.prediction.prediction_job import RowNames

ROW, FILE, CLASSES = "row", "file", "classes"
ResultArrays = Mapping[str, NDArray[Any]]


def write_result(
    path: Path, parts: OutputParts, rows: RowNames, *, classes: Sequence[Any] | None, names: Sequence[str] | None
) -> None:
    """Writes the file. path: its suffix gives the format. rows: indices of the examples, in the order of the parts.

    names: of all examples of the dataset, if they have any.
    """
    if path.suffix == ".npz":
        _write_npz(path, parts, rows, classes=classes, names=names)
        return
    writer: pq.ParquetWriter | None = None
    start = 0
    for part in parts.read():
        n = len(next(iter(part.values())))
        some = rows[start : start + n]
        start += n
        table = pa.table({ROW: some, **_named(some, names), **_columns(part, classes)})
        if writer is None:
            shapes = {name: list(array.shape[1:]) for name, array in part.items() if name != PROBABILITIES}
            schema = table.schema.with_metadata({"mlhub": json.dumps({"shapes": shapes, CLASSES: classes})})
            writer = pq.ParquetWriter(path, schema)
        writer.write_table(table.cast(writer.schema))
    assert writer is not None
    writer.close()


def _write_npz(
    path: Path, parts: OutputParts, rows: RowNames, *, classes: Sequence[Any] | None, names: Sequence[str] | None
) -> None:
    all_parts = list(parts.read())
    joined = {name: np.concatenate([part[name] for part in all_parts]) for name in all_parts[0]}
    del all_parts
    if PROBABILITIES in joined and classes is not None:
        joined[PREDICTION] = np.asarray(classes)[joined[PREDICTION]]
        joined[CLASSES] = np.asarray(classes)
    if names is not None:
        joined[FILE] = np.asarray(names)[rows]
    with path.open("wb") as file:
        save_arrays(file, {ROW: rows, **joined})


def _named(rows: RowNames, names: Sequence[str] | None) -> dict[str, Any]:
    return {} if names is None else {FILE: pa.array([names[row] for row in rows], pa.string())}


def _columns(part: ResultArrays, classes: Sequence[Any] | None) -> dict[str, Any]:
    """The columns of a part; arrays of more dimensions become lists of numbers."""
    columns: dict[str, Any] = {}
    for name, array in part.items():
        if name == PROBABILITIES and classes is not None:
            columns |= {f"probability_{label}": array[:, i] for i, label in enumerate(classes)}
        elif name == PREDICTION and PROBABILITIES in part and classes is not None:
            columns[name] = pa.array(classes).take(pa.array(array))
        elif array.ndim > 1:
            flat = np.ascontiguousarray(array).reshape(len(array), -1)
            columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])
        else:
            columns[name] = array
    return columns
