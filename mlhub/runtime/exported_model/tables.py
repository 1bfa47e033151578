# SPDX-License-Identifier: Apache-2.0
"""Rows of a table as the model was trained on them, encoded by the specifications of its columns."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .cells import REMEDIES, cell_value
from .delimiters import delimiter_of
from .encoding import encode
from .errors import UnusableRowError

Columns = Sequence[Mapping[str, Any]]


def read_csv(path: Path) -> list[dict[str, str]]:
    """Returns the rows of a CSV file with one header line. Raises UnusableRowError."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        delimiter = delimiter_of(file.readline())
        file.seek(0)
        rows = list(csv.DictReader(file, delimiter=delimiter))
    short = next((number for number, row in enumerate(rows) if None in row or None in row.values()), None)
    if short is not None:
        raise UnusableRowError(f"Row {short} has another number of columns than the header.", field="rows")
    return rows


def encoded_rows(rows: Sequence[Any], columns: Columns) -> Tensor:
    """Returns float32 inputs of shape (rows, width). Raises UnusableRowError that names the row and the column.

    Columns that the model does not use, such as its target, may be there or not. What is missing, and a word that
    training did not see, are encoded as in a prediction job.
    """
    for number, row in enumerate(rows):
        _check_columns(number, row, columns)
    blocks = [encode(column, _values(rows, column), is_learnt=True) for column in columns]
    return torch.from_numpy(np.concatenate(blocks, axis=1).astype(np.float32))


def _check_columns(number: int, row: Any, columns: Columns) -> None:
    if not isinstance(row, Mapping):
        raise UnusableRowError(
            f"Row {number} is no object.", field="rows", remedy=f"Give the columns {_listed(columns)} by name."
        )
    for column in columns:
        if column["name"] not in row:
            raise UnusableRowError(
                f"Row {number} has no column {column['name']}.",
                field=str(column["name"]),
                remedy=f"Give the columns {_listed(columns)}.",
            )


def _values(rows: Sequence[Mapping[str, Any]], column: Mapping[str, Any]) -> NDArray[Any]:
    """One column of the rows as encode() takes it."""
    found = np.empty(len(rows), dtype=object if column["kind"] == "category" else np.float64)
    for number, row in enumerate(rows):
        cell = row[column["name"]]
        try:
            found[number] = cell_value(column, cell)
        except ValueError as error:
            raise UnusableRowError(
                f"The column {column['name']} holds {str(cell)[:100]!r} in row {number}, which is no {error}.",
                field=str(column["name"]),
                remedy=REMEDIES[column["kind"]],
            ) from error
    return found


def _listed(columns: Columns) -> str:
    more = " ..." if len(columns) > 30 else ""
    return ", ".join(str(column["name"]) for column in columns[:30]) + more
